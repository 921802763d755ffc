#include "cli/samples.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <future>

#include "cli/console.h"
#include "cli/elapsed.h"
#include "cli/generation_stats.h"
#include "cli/text_writer.h"
#include "gpt2/scheduler.h"

namespace gpt2::cli {
namespace {

struct Sample {
  TextWriter writer;
  std::future<GenerationResult> result = {};
};

bool is_ready(const std::future<GenerationResult>& result) {
  return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

// Combines two hashes, in this order, by a step of FNV-1a.
std::uint64_t hash_of(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  return (first ^ second) * kPrime;
}

}  // namespace

void write_samples(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                   const GenerateSettings& settings, const Prompt& prompt,
                   GenerationOptions options) {
  Progress reading("reading the prompt");
  note_interrupts();
  options.on_prompt = [](std::size_t, std::size_t) { return !interrupted(); };
  Scheduler scheduler(engine);
  std::deque<Sample> samples;  // the samples that are not completely written; the first one is
                               // shown
  for (std::size_t i = 0; i < settings.samples; ++i) {
    Sample& sample = samples.emplace_back(TextWriter(settings, tokenizer, prompt, i));
    sample.writer.hold();
    const auto write = [&reading, &sample](auto piece) {  // a text or a token
      reading.done();
      sample.writer.write(piece);
      return !interrupted();
    };
    sample.result = tokenizer ? scheduler.submit(*tokenizer, prompt.tokens, options, write)
                              : scheduler.submit(prompt.tokens, options, write);
    ++options.sampling.sequence;
  }

  const auto start = std::chrono::steady_clock::now();
  StatsOfTexts stats = {.name = "samples", .texts = settings.samples};
  while (!samples.empty()) {
    scheduler.step();
    while (!samples.empty() && is_ready(samples.front().result)) {
      const GenerationResult result = samples.front().result.get();
      stats.tokens += result.tokens.size();
      stats.logits_hash = hash_of(stats.logits_hash, result.logits_hash);
      samples.front().writer.end(result);
      samples.pop_front();
    }
    if (!samples.empty()) samples.front().writer.show();
  }
  stats.seconds = seconds_since(start);
  if (settings.stats && !settings.as_json) print_stats(stats);
}

}  // namespace gpt2::cli
