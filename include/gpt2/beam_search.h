#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpt2/engine.h"
#include "gpt2/generate.h"
#include "gpt2/sampler.h"
#include "gpt2/tokenizer.h"
#include "gpt2/types.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// Determines when a beam search ends, once the number of ended sequences has reached the number of
/// beams. HuggingFace's values of early_stopping are given in parentheses.
enum class EarlyStopping {
  no,     ///< (false) when no open beam is likely to end with a better score: the sum of the
          ///< log-probabilities of the best one, divided by its current length, is no better than
          ///< the worst score in the list
  yes,    ///< (true) at once
  never,  ///< ("never") when no open beam can end with a better score: like `no`, but with a
          ///< positive length_penalty the sum is divided by the max length
};

/// The shape of a beam search, with HuggingFace's names, meanings and defaults.
///
/// A plain value: copies are independent.
///
/// Example:
///   const BeamOptions best_of_four = {.num_beams = 4};
///   const BeamOptions two_of_six = {.num_beams = 6, .num_return_sequences = 2};
struct BeamOptions {
  static constexpr std::size_t kMaxBeams = 1024;     ///< for num_beams
  static constexpr double kMaxLengthPenalty = 20.0;  ///< in either direction

  /// How many beginnings of sequences the search keeps after each token, from 1 to kMaxBeams. Each
  /// beam takes the memory of a session (Session::memory_bytes), except for full blocks of tokens
  /// that it shares with other beams.
  std::size_t num_beams = 1;

  /// How many of the best sequences are returned, from 1 to num_beams.
  std::size_t num_return_sequences = 1;

  /// The score of a sequence is the sum of its log-probabilities, divided by the number of its
  /// tokens raised to this power, from -kMaxLengthPenalty to kMaxLengthPenalty. A token that ends
  /// the sequence counts as one; tokens of the prompt do not. 0 ranks sequences by their
  /// probability, which favours short ones. The sums are negative, so a larger power favours longer
  /// sequences.
  double length_penalty = 1.0;

  EarlyStopping early_stopping = EarlyStopping::no;  ///< when the search ends
};

/// The choices of a beam search in one step. The spans are valid until the function that receives
/// the step returns.
/// The beams are in order, best first.
struct BeamStep {
  std::size_t new_tokens;           ///< new tokens of each beam so far: 1 in the first step
  std::span<const TokenId> tokens;  ///< (num_beams): the new token of each beam

  /// The new tokens of the beam with the highest sum. Empty if the search has ended.
  std::span<const TokenId> best;

  /// The hash of the bits of all logits from which beams were scored, in this step and in all
  /// earlier ones. 0 unless BeamSearchOptions::hash_logits is set.
  std::uint64_t logits_hash;
};

/// Options for beam_search().
struct BeamSearchOptions {
  BeamOptions beams = {};            ///< how many beams, and how they are compared
  std::size_t max_new_tokens = 256;  ///< for each sequence, from 1 to kMaxOptionTokens

  /// Sets the logits processors, from sequence_bias to renormalize_logits. They change
  /// log-probabilities instead of logits, and the search adds up the changed values. Nothing is
  /// drawn, so temperature, the filters top_h ... eta_cutoff, and seed have no effect, as in
  /// HuggingFace without do_sample.
  SamplingOptions sampling = {};

  /// Tokens that end a sequence, in addition to the model's own (Config::eos_token_id).
  std::vector<TokenId> stop_tokens = {};
  bool ignore_eos = false;  ///< whether sequences continue after the model's own end-of-text tokens

  /// If set: writes BeamSequence::text, and its end-of-text token also ends a sequence unless
  /// ignore_eos is set, as in generate().
  std::optional<Tokenizer> tokenizer = {};

  bool skip_special_tokens = true;  ///< whether BeamSequence::text leaves out special tokens

  bool hash_logits = false;  ///< fill BeamStep::logits_hash

  /// Called before each piece of the prompt is read, and once more after the last one, as
  /// GenerationOptions::on_prompt is. Returns false to cancel. An empty function is not called.
  std::function<bool(std::size_t read, std::size_t total)> on_prompt = {};

  /// Called after each step. Returns false to end the search; beam_search() then returns the best
  /// sequences found so far. An empty function is not called.
  std::function<bool(const BeamStep& step)> on_step = {};
};

/// One of the sequences that a beam search returns.
struct BeamSequence {
  std::vector<TokenId> tokens;  ///< the new tokens, without the one that ended the sequence
  double score;                 ///< see BeamOptions::length_penalty
  FinishReason finish_reason;   ///< end_of_text, length, context_full or cancelled
  std::optional<TokenId> end_token = {};  ///< the token that ended the sequence: end_of_text
  std::string text = {};  ///< that generate() would write for `tokens`; empty without a tokenizer
};

/// Searches for the continuations of the prompt with the highest scores, and returns the best
/// num_return_sequences, best first. Greedy decoding keeps one partial text and appends the most
/// probable token to it. Beam search keeps num_beams partial texts, tries every token after each of
/// them, and keeps the num_beams best results.
///
/// The sequences, their order and their scores are those of HuggingFace's generate() in
/// transformers 5 with do_sample=False, except that a sequence ends with its last token, without
/// padding. Scores differ from HuggingFace's by rounding, so sequences with nearly equal scores may
/// change places. Candidates with equal sums are ordered by beam and then by token; among sequences
/// with equal scores, the one that ended first comes first.
///
/// With one beam and no processors, the tokens are those of generate() with temperature 0, unless
/// early_stopping is EarlyStopping::never. With processors, they may differ, because a processor
/// that multiplies scores has a different effect on log-probabilities than on logits. (HuggingFace
/// decodes greedily if num_beams is 1.)
///
/// The result is the same, bit for bit, on every machine and for any number of threads.
///
/// If on_step ends the search, the open beams are treated as if they had reached the max length:
/// they end, and are returned with FinishReason::cancelled if they are among the best. If on_prompt
/// cancels, no sequence is returned.
///
/// Thread safety: any number of threads may search on one engine. on_prompt and on_step are called
/// on the calling thread, between forward passes.
///
/// Cost: one forward pass over the prompt and then one for each step, which all open beams share. A
/// step also makes a few passes over num_beams * vocab_size floats. The engine's threads share this
/// work unless options.sampling.processors has functions. The search holds num_beams sessions,
/// num_beams * vocab_size floats, and, for each thread, about 30 bytes for each token of the
/// vocabulary. If several beams continue the same beam, one of them takes over its session, and the
/// sessions of the others are assigned from it, which copies few keys and values (Session::assign).
///
/// Throws Error(invalid_argument)
///   - for an option outside its range, which the message names;
///   - for a prompt that is empty, longer than the model's n_positions, or has an id outside the
///     vocabulary;
///   - if every token of the vocabulary ends a sequence;
///   - for a tokenizer that does not belong to the model (Tokenizer::require_match);
///   - if the model's logits contain NaN or +infinity (see Sampler::process);
///   - if the options remove every token after every beam.
/// Throws std::bad_alloc, and whatever on_prompt, on_step and options.sampling.processors throw.
///
/// Example:
///   const Engine engine(model);
///   const BeamSearchOptions options{.beams = {.num_beams = 4, .num_return_sequences = 2},
///                                   .max_new_tokens = 50,
///                                   .tokenizer = tokenizer};
///   for (const BeamSequence& s : beam_search(engine, tokenizer.encode("Once upon"), options)) {
///     std::cout << s.score << ": " << s.text << '\n';
///   }
[[nodiscard]] std::vector<BeamSequence> beam_search(const Engine& engine,
                                                    std::span<const TokenId> prompt,
                                                    const BeamSearchOptions& options);

}  // namespace gnu::visibility("default")]]gpt2
