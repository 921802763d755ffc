#include "cli/generate/texts.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <string>
#include <vector>

#include "base/seconds_since.h"
#include "cli/generate/output.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "gpt2/beam_search.h"
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

// Returns no sequence if the prompt was interrupted. The token count in `stats` includes all beams.
std::vector<BeamSequence> search(const Engine& engine, const Prompt& prompt,
                                 BeamSearchOptions options, StatsOfTexts& stats) {
  Progress reading("reading the prompt");
  std::optional<Progress> searching;
  note_interrupts();
  options.on_prompt = [&](std::size_t read, std::size_t total) {
    reading.part(static_cast<double>(read) / static_cast<double>(total));
    if (read < total) return !interrupted();
    reading.done();
    searching.emplace("searching");
    return !interrupted();
  };
  options.on_step = [&](const BeamStep& step) {
    stats.tokens += step.tokens.size();
    stats.logits_hash = step.logits_hash;
    searching->part(static_cast<double>(step.new_tokens) /
                    static_cast<double>(options.max_new_tokens));
    return !interrupted();
  };
  const auto start = std::chrono::steady_clock::now();
  std::vector<BeamSequence> sequences = beam_search(engine, prompt.tokens, options);
  stats.seconds = seconds_since(start);
  return sequences;
}

}  // namespace

void write_samples(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                   const GenerateSettings& settings, const Prompt& prompt,
                   GenerationOptions options) {
  Progress reading("reading the prompt");
  TokenProgress written(settings);
  note_interrupts();
  options.on_prompt = [](std::size_t, std::size_t) { return !interrupted(); };
  const SchedulerOptions limits;
  Scheduler scheduler(engine, limits);
  std::deque<Sample> samples;  // the submitted samples that are not completely written; the first
                               // one is shown
  std::size_t submitted = 0;
  // Submits so many samples that a place in a pass never stays free. All of them at once could take
  // gigabytes, and each pass looks at all that wait.
  const auto submit = [&] {
    while (submitted < settings.writing.samples && !interrupted() &&
           scheduler.stats().waiting < limits.max_sequences) {
      Sample& sample =
          samples.emplace_back(Sample{TextWriter(settings, tokenizer, prompt, submitted++)});
      sample.writer.hold();
      const auto write = [&reading, &written, &sample](auto piece) {  // a text or a token
        reading.done();
        written.add();
        sample.writer.write(piece);
        return !interrupted();
      };
      sample.result = scheduler.submit(prompt.tokens, options, {tokenizer, write, write});
      ++options.sampling.sequence;
    }
  };

  const auto start = std::chrono::steady_clock::now();
  StatsOfTexts stats = {.name = "samples"};
  for (submit(); !samples.empty(); submit()) {
    scheduler.step();
    written.show();
    while (!samples.empty() && is_ready(samples.front().result)) {
      const GenerationResult result = samples.front().result.get();
      stats.tokens += result.tokens.size();
      stats.logits_hash = hash_of(stats.logits_hash, result.logits_hash);
      samples.front().writer.end(result);
      samples.pop_front();
    }
    if (!samples.empty()) samples.front().writer.show();
  }
  written.done();
  stats.texts = submitted;
  stats.seconds = seconds_since(start);
  if (settings.output.stats && !settings.output.as_json) print_stats(stats);
}

void write_beams(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                 const GenerateSettings& settings, const Prompt& prompt,
                 const GenerationOptions& generation) {
  BeamSearchOptions options{.beams = settings.beams,
                            .max_new_tokens = generation.max_new_tokens,
                            .sampling = generation.sampling,
                            .stop_tokens = generation.stop_tokens,
                            .ignore_eos = generation.ignore_eos,
                            .tokenizer = tokenizer,
                            .hash_logits = generation.hash_logits};
  StatsOfTexts stats = {.name = "beams", .texts = options.beams.num_beams};
  std::vector<BeamSequence> sequences = search(engine, prompt, options, stats);
  if (sequences.empty()) sequences.push_back({{}, 0.0, FinishReason::cancelled});
  GenerateSettings texts = settings;
  texts.writing.samples = sequences.size();
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto& [tokens, score, reason, text] = sequences[i];
    TextWriter writer(texts, tokenizer, prompt, i);
    if (!tokenizer) std::ranges::for_each(tokens, [&](TokenId token) { writer.write(token); });
    writer.write(text);
    writer.end({.finish_reason = reason,
                .tokens = tokens,
                .logits_hash = stats.logits_hash,
                .generation_seconds = stats.seconds},
               score);
  }
  if (settings.output.stats && !settings.output.as_json) print_stats(stats);
  if (std::ranges::count(sequences, FinishReason::context_full, &BeamSequence::finish_reason)) {
    print_error(concat("a text ends where the context of ", engine.model().config().n_positions,
                       " tokens is full"));
  }
}

}  // namespace gpt2::cli
