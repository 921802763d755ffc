#include "cli/generate/output.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "cli/lines/records.h"
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

Json stats_json(const GenerationResult& result) {
  Json stats = {{"prompt_seconds", result.prompt_seconds},
                {"generation_seconds", result.generation_seconds},
                {"drafted_tokens", result.drafted_tokens},
                {"accepted_tokens", result.accepted_tokens},
                {"logits_hash", nullptr}};
  if (result.logits_hash != 0) {  // it is 0 if there were no logits to hash
    stats["logits_hash"] = hash_text(result.logits_hash);
  }
  return stats;
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

TextWriter::TextWriter(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
                       const Prompt& prompt, std::size_t sample)
    : settings_(settings),
      tokenizer_(tokenizer),
      prompt_(prompt),
      sample_(sample),
      waiting_(settings.output.no_echo || settings.output.as_json ? "" : prompt.text),
      is_empty_(waiting_.empty()),
      is_held_(settings.output.as_json) {
  const Writing& writing = settings.writing;
  if (settings.output.as_json || writing.tokens || writing.samples == 1) return;
  waiting_ = concat("--- ", sample + 1, " of ", writing.samples, "\n", waiting_);
}

TokenProgress::TokenProgress(const GenerateSettings& settings)
    : is_shown_(settings.output.as_json || !text_is_seen()) {}

void TokenProgress::show() {
  if (!is_shown_ || tokens_ == 0) return;
  if (!progress_) progress_.emplace("writing");
  progress_->show(counted(tokens_, "token"));
}

void TextWriter::show() {
  if (settings_.output.as_json) return;
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

void TextWriter::end(const GenerationResult& result, std::optional<double> score) {
  if (settings_.output.as_json) return write_stdout(json(result, score));
  if (result.finish_reason == FinishReason::cancelled && result.tokens.empty()) return;
  is_held_ = false;
  write("");
  const bool only_saves = settings_.output.no_echo && !settings_.state.to.empty() &&
                          settings_.writing.options.max_new_tokens == 0;
  if (!settings_.output.no_newline && !only_saves && last_ != '\n') write_stdout("\n");
}

// Returns the line that --json writes. Bytes of the prompt and of single tokens that are not UTF-8
// become U+FFFD, because JSON cannot represent them.
std::string TextWriter::json(const GenerationResult& result, std::optional<double> score) const {
  const GenerationOptions& options = settings_.writing.options;
  Json object = {{"model", settings_.model.path.string()}};
  if (tokenizer_) object["prompt"] = prompt_.text;
  object["prompt_token_ids"] = prompt_.tokens;
  if (tokenizer_) object["text"] = waiting_;
  object["token_ids"] = result.tokens;
  object["finish_reason"] = name_of(result.finish_reason);
  if (score) {
    object["score"] = short_number(static_cast<float>(*score));
  } else {
    object["seed"] = options.sampling.seed;
    object["sequence"] = options.sampling.sequence + sample_;
  }
  if (options.top_logprobs) {
    object["logprobs"] = logprobs_json(tokenizer_, result.tokens, result.logprobs);
  }
  if (settings_.output.stats) object["stats"] = stats_json(result);
  return line_of(object);
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

void print_stats(const StatsOfTexts& stats) {
  const std::string text = format("%-11s %zu\ngeneration  ", stats.name, stats.texts) +
                           speed(stats.tokens, stats.tokens, stats.seconds) + '\n' +
                           hash_line(stats.logits_hash);
  write_stderr(text);
}

}  // namespace gpt2::cli
