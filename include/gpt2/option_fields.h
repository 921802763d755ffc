#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>

#include "gpt2/beam_search.h"
#include "gpt2/generate.h"
#include "gpt2/sampler.h"

// The table of options: one row for each option of sampling, of generation and of beam search.
// Everything that reads options from somewhere (the command, JSON, generation_config.json, the C
// interface, Python) visits these rows, so that an option has one name, one range and one
// description everywhere. A front end of your own can do the same.

namespace [[gnu::visibility("default")]] gpt2 {

/// What an option does. The command's --help has a section for each role.
enum class OptionRole : std::uint8_t {
  draws,          ///< has an effect only if tokens are drawn, and not with temperature 0
  limits_length,  ///< makes a text end earlier or later
  penalizes,      ///< makes tokens less likely that the text already has
  names_tokens,   ///< changes the scores of single tokens
  searches,       ///< the shape of a beam search
  reports,        ///< adds something to the result
};

/// Where the name and the meaning of an option come from.
enum class OptionOrigin : std::uint8_t {
  huggingface,  ///< HuggingFace's generate(), and therefore generation_config.json
  openai,       ///< OpenAI's completions
  own,          ///< gpt2.cpp
};

/// The numbers that an option allows, including those in its lists and pairs.
///
/// Example:
///   constexpr OptionRange range = {.min = 0.5, .max = 2.0, .also = 0.0};
///   const bool is_allowed = range.contains(0.0f);  // true
struct OptionRange {
  double min = 0.0;   ///< the lowest number
  double max = 0.0;   ///< the highest number
  double also = min;  ///< one more number, which may be outside of min to max

  /// Returns whether the option may have this value. NaN is never allowed.
  template <class Number>
  [[nodiscard]] constexpr bool contains(Number value) const noexcept {
    if constexpr (sizeof(Number) < sizeof(double)) {  // 1e-6f is less than 1e-6
      if (value >= static_cast<Number>(min) && value <= static_cast<Number>(max)) return true;
    }
    const auto number = static_cast<double>(value);
    return (number >= min && number <= max) || number == also;
  }

  /// Returns the range in words: "a number from 0 to 1", or "0 or a whole number from 5 to 9" if
  /// `is_whole`, or just the number if there is only one.
  [[nodiscard]] std::string text(bool is_whole) const;
};

/// A row of the table: all that a front end has to know about one option. `Options` is the struct
/// that has the option, and `T` the type of its value.
///
/// Example:
///   constexpr OptionField min_p = {"min_p",          &SamplingOptions::min_p,    {0, 1},
///                                  OptionRole::draws, OptionOrigin::huggingface, "..."};
///   const float value = SamplingOptions{}.*min_p.member;  // 0
template <class Options, class T>
struct OptionField {
  using Value = T;  ///< the type of the value

  const char* name;     ///< HuggingFace's or OpenAI's, such as "min_p"
  T Options::*member;   ///< where the value is
  OptionRange range;    ///< the numbers that the value may contain; unused if it has none
  OptionRole role;      ///< what the option does
  OptionOrigin origin;  ///< where its name and meaning come from
  const char* help;     ///< one line for people, without a full stop at its end
};
template <class Options, class T>
OptionField(const char*, T Options::*, OptionRange, OptionRole, OptionOrigin, const char*)
    -> OptionField<Options, T>;

/// The largest value of an option that counts tokens.
inline constexpr std::size_t kMaxOptionTokens = 1'000'000'000;

/// The rows. Those with the same role are adjacent, in the order in which help texts list them.
///
/// Example:
///   constexpr std::size_t count = std::tuple_size_v<decltype(OptionTable::sampling)>;
struct OptionTable {
  using enum OptionRole;
  using enum OptionOrigin;

  using S = SamplingOptions;
  using G = GenerationOptions;
  using B = BeamOptions;

  static constexpr OptionRange kNoNumber = {};
  static constexpr OptionRange kTokens = {0, kMaxOptionTokens};
  static constexpr OptionRange kSequence = {0, 18446744073709551615.0};
  static constexpr OptionRange kSeed = {-9223372036854775808.0, 18446744073709551615.0};
  static constexpr OptionRange kTemperature = {1e-6, 100, /*also=*/0};
  static constexpr OptionRange kSigmas = {0, 1000};
  static constexpr OptionRange kShare = {0, 1};
  static constexpr OptionRange kTypical = {1e-6, 1};
  static constexpr OptionRange kCutoff = {0, 0.9999};
  static constexpr OptionRange kPenalty = {1e-6, 1e6};
  static constexpr OptionRange kOpenAI = {-2, 2};
  static constexpr OptionRange kLogitBias = {-100, 100};
  static constexpr OptionRange kBias = {-1e30, 1e30, -std::numeric_limits<double>::infinity()};
  static constexpr OptionRange kBeams = {1, B::kMaxBeams};
  static constexpr OptionRange kLength = {-B::kMaxLengthPenalty, B::kMaxLengthPenalty};

  /// All options of SamplingOptions except `processors`.
  static constexpr auto sampling = std::tuple(
      OptionField{"temperature", &S::temperature, kTemperature, draws, huggingface,
                  "Lower is more predictable, higher is more varied, 0 always takes the most "
                  "likely token"},
      OptionField{"top_h", &S::top_h, kShare, draws, huggingface,
                  "Draw from the most likely tokens that together have at most this share of the "
                  "entropy of the 100 most likely ones; 0: from all"},
      OptionField{"top_k", &S::top_k, kTokens, draws, huggingface,
                  "Draw from the N most likely tokens; 0: from all"},
      OptionField{"top_n_sigma", &S::top_n_sigma, kSigmas, draws, own,
                  "Draw from the tokens whose score is at most N standard deviations below the "
                  "highest one; 0: from all"},
      OptionField{"top_p", &S::top_p, kShare, draws, huggingface,
                  "Draw from the most likely tokens that together have at least this "
                  "probability"},
      OptionField{"min_p", &S::min_p, kShare, draws, huggingface,
                  "Draw from the tokens that have at least N times the probability of the most "
                  "likely token"},
      OptionField{"typical_p", &S::typical_p, kTypical, draws, huggingface,
                  "Draw from the tokens whose information is closest to the entropy and that "
                  "together have at least this probability"},
      OptionField{"epsilon_cutoff", &S::epsilon_cutoff, kCutoff, draws, huggingface,
                  "Draw from tokens with at least this probability"},
      OptionField{"eta_cutoff", &S::eta_cutoff, kCutoff, draws, huggingface,
                  "The same, but with a lower limit if the probability is spread over many "
                  "tokens"},
      OptionField{"seed", &S::seed, kSeed, draws, openai, "Different numbers give different texts"},
      OptionField{"sequence", &S::sequence, kSequence, draws, own,
                  "Which of the different texts of a seed to write"},
      OptionField{"min_new_tokens", &S::min_new_tokens, kTokens, limits_length, huggingface,
                  "Min length of the continuation, in tokens, unless a stop string ends it"},
      OptionField{"min_length", &S::min_length, kTokens, limits_length, huggingface,
                  "The same, but including the prompt; not used with min_new_tokens"},
      OptionField{"forced_eos_token_id", &S::forced_eos_token_id, kNoNumber, limits_length,
                  huggingface, "The last token of a text that reaches its max length"},
      OptionField{"exponential_decay_length_penalty", &S::exponential_decay_length_penalty,
                  kPenalty, limits_length, huggingface,
                  "After START new tokens, make the end of the text likelier with each further "
                  "token"},
      OptionField{"repetition_penalty", &S::repetition_penalty, kPenalty, penalizes, huggingface,
                  "For tokens that the text already has: divide positive scores by N, and "
                  "multiply negative ones by N"},
      OptionField{"no_repeat_ngram_size", &S::no_repeat_ngram_size, kTokens, penalizes, huggingface,
                  "Never repeat a sequence of N tokens; 0: allow it"},
      OptionField{"presence_penalty", &S::presence_penalty, kOpenAI, penalizes, openai,
                  "OpenAI's: subtract N from the scores of tokens that the continuation already "
                  "has"},
      OptionField{"frequency_penalty", &S::frequency_penalty, kOpenAI, penalizes, openai,
                  "OpenAI's: subtract N from a token's score for each time it is in the "
                  "continuation"},
      OptionField{"bad_words_ids", &S::bad_words_ids, kNoNumber, names_tokens, huggingface,
                  "Never write these sequences of tokens"},
      OptionField{"suppress_tokens", &S::suppress_tokens, kNoNumber, names_tokens, huggingface,
                  "Never choose these tokens"},
      OptionField{"begin_suppress_tokens", &S::begin_suppress_tokens, kNoNumber, names_tokens,
                  huggingface, "Do not choose these tokens right after the prompt"},
      OptionField{"logit_bias", &S::logit_bias, kLogitBias, names_tokens, openai,
                  "Add BIAS to the score of a token"},
      OptionField{"sequence_bias", &S::sequence_bias, kBias, names_tokens, huggingface,
                  "Add BIAS to the last of these tokens if the others come before it"},
      OptionField{"forced_bos_token_id", &S::forced_bos_token_id, kNoNumber, names_tokens,
                  huggingface, "The token to begin with after a prompt of one token"},
      OptionField{"remove_invalid_values", &S::remove_invalid_values, kNoNumber, names_tokens,
                  huggingface,
                  "Replace NaN scores by 0 and infinite ones by the largest finite numbers"},
      OptionField{"renormalize_logits", &S::renormalize_logits, kNoNumber, names_tokens,
                  huggingface,
                  "Turn the scores into log-probabilities, which changes no probability"});

  /// The options of GenerationOptions that a front end can read from a text: all but those that
  /// hold functions, models or SamplingOptions, and those for drafts.
  static constexpr auto generation = std::tuple(
      OptionField{"max_new_tokens", &G::max_new_tokens, kTokens, limits_length, huggingface,
                  "Max length of the continuation, in tokens"},
      OptionField{"stop", &G::stop, kNoNumber, limits_length, openai, "End the text before TEXT"},
      OptionField{"ignore_eos", &G::ignore_eos, kNoNumber, limits_length, own,
                  "Continue after a token that would end the text"},
      OptionField{"overflow", &G::overflow, kNoNumber, limits_length, own,
                  "When the context is full, end the text (default), or slide: drop the older "
                  "half of it, and continue"},
      OptionField{"keep", &G::keep, kTokens, limits_length, own,
                  "The number of tokens at the beginning that a slide keeps"},
      OptionField{"skip_special_tokens", &G::skip_special_tokens, kNoNumber, reports, huggingface,
                  "Leave special tokens out of the text"},
      OptionField{"logprobs", &G::top_logprobs, kTokens, reports, openai,
                  "Add the log-probability of each token, and the N likeliest tokens in its "
                  "place"});

  /// All options of BeamOptions.
  static constexpr auto beams = std::tuple(
      OptionField{"num_beams", &B::num_beams, kBeams, searches, huggingface,
                  "Search for the most probable text instead of drawing one: keep the N best "
                  "beginnings after each token"},
      OptionField{"num_return_sequences", &B::num_return_sequences, kBeams, searches, huggingface,
                  "Write the N best texts, each under a line with its number"},
      OptionField{"length_penalty", &B::length_penalty, kLength, searches, huggingface,
                  "Divide the sum of a text's log-probabilities by its length to this power; a "
                  "larger power favours longer texts"},
      OptionField{"early_stopping", &B::early_stopping, kNoNumber, searches, huggingface,
                  "End as soon as N texts have ended (true), when better ones are unlikely "
                  "(false, the default) or impossible (never)"});
};

/// Calls visit(field) for each option of SamplingOptions except `processors`.
///
/// Example:
///   for_each_sampling_field([](const auto& field) {
///     std::cout << field.name << ": " << field.help << '\n';
///   });
template <class Visitor>
constexpr void for_each_sampling_field(const Visitor& visit) {
  std::apply([&visit](const auto&... fields) { (visit(fields), ...); }, OptionTable::sampling);
}

/// The same for OptionTable::generation.
template <class Visitor>
constexpr void for_each_generation_field(const Visitor& visit) {
  std::apply([&visit](const auto&... fields) { (visit(fields), ...); }, OptionTable::generation);
}

/// The same for OptionTable::beams.
template <class Visitor>
constexpr void for_each_beam_field(const Visitor& visit) {
  std::apply([&visit](const auto&... fields) { (visit(fields), ...); }, OptionTable::beams);
}

}  // namespace gnu::visibility("default")]]gpt2
