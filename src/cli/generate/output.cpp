#include "cli/generate/output.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "cli/system/descriptor.h"
#include "cli/system/terminal.h"
#include "cli/terminal/console.h"
#include "requests/hash.h"

namespace gpt2::cli {
namespace {

constexpr int kStandardOutput = 1, kStandardError = 2;  // descriptors, on every system

// Whether the text that is written to standard output is seen beside what is written to standard
// error. What goes to a pipe is taken to be seen, because it often comes to the same terminal.
bool text_is_seen() {
  if (is_terminal(stderr)) return !is_regular(kStandardOutput);
  return is_terminal(stdout) || is_same_file(kStandardOutput, kStandardError);
}

// Returns "3 tokens" and, if any pass was timed, the time and the speed.
std::string speed(std::size_t tokens, std::size_t passes, double seconds) {
  const std::string count = counted(tokens, "token");
  if (passes == 0 || seconds <= 0.0) return count;
  return count + format(", %.3f s, %.1f tokens/s", seconds, static_cast<double>(passes) / seconds);
}

// The hash is 0 if there were no logits to hash.
std::string hash_line(std::uint64_t hash) {
  return hash == 0 ? "" : "logits      " + hash_text(hash) + "\n";
}

}  // namespace

TextWriter::TextWriter(const GenerateSettings& settings, const Prompt& prompt, std::size_t index,
                       std::size_t count)
    : settings_(settings),
      waiting_(settings.output.no_echo ? "" : prompt.text),
      is_empty_(waiting_.empty()) {
  if (settings.writing.tokens || count == 1) return;
  waiting_ = concat("--- ", index + 1, " of ", count, "\n", waiting_);
}

TokenProgress::TokenProgress(const GenerateSettings& settings)
    : is_shown_(settings.output.as_json || !text_is_seen()) {}

void TokenProgress::show() {
  if (!is_shown_ || tokens_ == 0) return;
  if (!progress_) progress_.emplace("writing");
  progress_->show(counted(tokens_, "token"));
}

void TextWriter::show() {
  is_held_ = false;
  write("");
}

void TextWriter::write(std::string_view piece) {
  waiting_ += piece;
  if (is_held_) return;
  if (!waiting_.empty()) last_ = waiting_.back();
  write_stdout(std::exchange(waiting_, ""));
}

void TextWriter::write(TokenId token) {
  write((std::exchange(is_empty_, false) ? "" : " ") + std::to_string(token));
}

void TextWriter::end(const GenerationResult& result) {
  if (result.finish_reason == FinishReason::cancelled && result.tokens.empty()) return;
  show();
  const bool only_saves = settings_.output.no_echo && !settings_.state.to.empty() &&
                          settings_.writing.options.max_new_tokens == 0;
  if (!settings_.output.no_newline && !only_saves && last_ != '\n') write_stdout("\n");
}

// The first generated token needs no pass of its own, because the pass over the prompt already
// returns its logits.
void print_stats(const GenerationResult& result, const Session& session, std::size_t before) {
  const std::size_t reached = session.position() - session.waiting() + result.dropped_tokens;
  const std::size_t computed = std::max(reached, before) - before;
  const std::size_t read = std::min(computed, result.prompt_tokens);
  const std::size_t decoded = computed - read;
  std::string text = "prompt      " + speed(read, read, result.prompt_seconds) + "\ngeneration  " +
                     speed(result.tokens.size(), decoded, result.generation_seconds);
  if (result.drafted_tokens != 0) {
    text += "\ndrafts      " + counted(result.drafted_tokens, "token") +
            format(", %zu accepted (%.0f %%)", result.accepted_tokens,
                   100.0 * static_cast<double>(result.accepted_tokens) /
                       static_cast<double>(result.drafted_tokens));
  } else if (decoded != 0) {
    const std::size_t bytes = decoded * session.model().bytes_per_token();
    text += format(", %.2f GB/s", 1e-9 * static_cast<double>(bytes) / result.generation_seconds);
  }
  text += "\nfinish      " + std::string(name_of(result.finish_reason)) + "\n";
  text += hash_line(result.logits_hash);
  write_stderr(text);
}

void print_stats(const char* name, std::size_t texts, const WrittenTexts& written) {
  write_stderr(format("%-11s %zu\ngeneration  ", name, texts) +
               speed(written.tokens, written.tokens, written.seconds) + '\n' +
               hash_line(written.logits_hash));
}

}  // namespace gpt2::cli
