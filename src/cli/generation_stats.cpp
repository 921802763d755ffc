#include "cli/generation_stats.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

#include "cli/console.h"

namespace gpt2::cli {
namespace {

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
  std::fputs(text.c_str(), stderr);
}

void print_stats(const StatsOfTexts& stats) {
  const std::string text = format("%-11s %zu\ngeneration  ", stats.name, stats.texts) +
                           speed(stats.tokens, stats.tokens, stats.seconds) + '\n' +
                           hash_line(stats.logits_hash);
  std::fputs(text.c_str(), stderr);
}

}  // namespace gpt2::cli
