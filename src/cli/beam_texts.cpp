#include "cli/beam_texts.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/elapsed.h"
#include "cli/generation_stats.h"
#include "cli/text_writer.h"
#include "gpt2/beam_search.h"

namespace gpt2::cli {
namespace {

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

// Writes the tokens as generate() does: tokens that stand for no text are left out.
void write(TextWriter& writer, const std::optional<Tokenizer>& tokenizer,
           const std::vector<TokenId>& tokens) {
  Utf8Stream characters;
  for (const TokenId token : tokens) {
    if (!tokenizer) {
      writer.write(token);
    } else if (!tokenizer->is_special(token)) {
      writer.write(characters.write(tokenizer->bytes(token)));
    }
  }
  writer.write(characters.flush());
}

}  // namespace

void write_beams(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                 const Prompt& prompt, const GenerateSettings& settings,
                 const GenerationOptions& generation) {
  BeamSearchOptions options{.beams = settings.beams,
                            .max_new_tokens = generation.max_new_tokens,
                            .sampling = generation.sampling,
                            .stop_tokens = generation.stop_tokens,
                            .ignore_eos = generation.ignore_eos,
                            .hash_logits = settings.stats};
  if (tokenizer) {
    tokenizer->require_match(engine.model().config());
    const std::optional<TokenId> end = tokenizer->end_of_text();
    if (end && !options.ignore_eos) options.stop_tokens.push_back(*end);
  }
  StatsOfTexts stats = {.name = "beams", .texts = options.beams.num_beams};
  std::vector<BeamSequence> sequences = search(engine, prompt, options, stats);
  if (sequences.empty()) sequences.push_back({{}, 0.0, FinishReason::cancelled});
  GenerateSettings texts = settings;
  texts.samples = sequences.size();
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto& [tokens, score, reason] = sequences[i];
    TextWriter writer(texts, tokenizer, prompt, i);
    write(writer, tokenizer, tokens);
    writer.end({.finish_reason = reason,
                .tokens = tokens,
                .logits_hash = stats.logits_hash,
                .generation_seconds = stats.seconds},
               score);
  }
  if (settings.stats && !settings.as_json) print_stats(stats);
  if (std::ranges::count(sequences, FinishReason::context_full, &BeamSequence::finish_reason)) {
    print_error(format("a text ends where the context of %zu tokens is full",
                       engine.model().config().n_positions));
  }
}

}  // namespace gpt2::cli
