#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gpt2/token_id.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// A function of the caller's that changes the scores before a token is chosen. `scores` has one
/// element for each token of the vocabulary; -infinity removes a token. `ids` are all tokens of the
/// sequence so far, those of the prompt included. The function must not write NaN. It may throw.
///
/// The function must give the same scores for the same arguments if the same seed is to write the
/// same text. With GenerationOptions::draft it is also called with ids that are then not written; a
/// std::exception that it throws in such a call ends the draft, not the text. To end the text,
/// return false from the sink.
///
/// Example:
///   // Writes digits only.
///   const LogitsProcessor digits = [](std::span<float> scores, std::span<const TokenId>) {
///     for (std::size_t id = 0; id < scores.size(); ++id) {
///       const std::string_view text = tokenizer.bytes(static_cast<TokenId>(id));
///       const bool is_number = text.find_first_not_of("0123456789") == text.npos;
///       if (text.empty() || !is_number) scores[id] = -std::numeric_limits<float>::infinity();
///     }
///   };
///   const SamplingOptions options{.temperature = 0.0f, .processors = {digits}};
using LogitsProcessor = std::function<void(std::span<float> scores, std::span<const TokenId> ids)>;

/// A number that is added to the score of the last of the ids wherever the other ids come before
/// it. With one id, it is always added.
struct SequenceBias {
  std::vector<TokenId> ids;  ///< at least one
  float bias;                ///< from -kMaxBias to kMaxBias, or -infinity
};

/// How the scores of the tokens that end a text grow with its length.
struct ExponentialDecay {
  std::size_t start;  ///< it begins when the continuation has more tokens than this
  double factor;      ///< from kMinPenalty to kMaxPenalty; above 1, the scores grow
};

/// How the next token is chosen from the logits, with HuggingFace's names, formulas and order. The
/// options act on the scores one after another: sequence_bias, logit_bias, presence_penalty and
/// frequency_penalty, repetition_penalty, and so on, in the order of the members below, down to the
/// caller's own functions. If tokens are drawn, temperature and the filters top_k ... eta_cutoff
/// follow. renormalize_logits is the last.
///
/// logit_bias and the two penalties beside it are those of OpenAI's API, which HuggingFace does not
/// have. They stand so early because OpenAI defines them on the model's own logits, and because
/// tokens that a later option removes or forces then stay removed or forced.
///
/// The defaults draw from all tokens as the model predicts them. An option that has its default
/// costs nothing, and one that names tokens costs no more than the tokens it names.
///
/// A plain value: copies are independent if the caller's own functions are.
///
/// Example:
///   SamplingOptions options{.temperature = 0.8f, .top_k = 40, .seed = 7};
///   options.repetition_penalty = 1.2f;
///   options.bad_words_ids = {tokenizer.encode(" cat"), tokenizer.encode(" dog")};
struct SamplingOptions {
  /// The lowest temperature other than 0. Logits divided by less could overflow.
  static constexpr float kMinTemperature = 1e-6f;

  /// The limits of penalties that multiply or divide scores, and of biases that are added to them.
  static constexpr float kMinPenalty = 1e-6f;
  static constexpr float kMaxPenalty = 1e6f;  ///< see kMinPenalty
  static constexpr float kMaxBias = 1e30f;    ///< in either direction

  /// Below 1, likely tokens become likelier; above 1, unlikely ones do. Finite and at least
  /// kMinTemperature; or 0: always the token with the highest score (greedy), without the filters
  /// that follow.
  float temperature = 1.0f;

  /// Keep the k largest scores, and those equal to the last of them. 0: keep all.
  std::size_t top_k = 0;

  /// Keep the smallest set of tokens, most probable first, whose probabilities add up to at least
  /// p, from 0 to 1. At least one token is kept.
  float top_p = 1.0f;

  /// Remove tokens whose probability is less than this share, from 0 to 1, of the highest one.
  float min_p = 0.0f;

  /// Locally typical sampling (Meister et al. 2022): keep the smallest set of tokens whose
  /// probabilities add up to at least this, taking those first whose information is closest to the
  /// entropy of the distribution. More than 0 and at most 1, which keeps all.
  float typical_p = 1.0f;

  /// Remove tokens with a probability below this: at least 0 and less than 1. The most probable
  /// token is kept.
  float epsilon_cutoff = 0.0f;

  /// Eta sampling (Hewitt et al. 2022): remove tokens with a probability below
  /// min(eta, sqrt(eta) * exp(-entropy)). At least 0 and less than 1. The most probable token is
  /// kept.
  float eta_cutoff = 0.0f;

  std::uint64_t seed = 0;      ///< the same seed draws the same tokens, on every machine
  std::uint64_t sequence = 0;  ///< sequences that share a seed draw independently of one another

  /// Biases that depend on the tokens before. Those of one token are added up first.
  std::vector<SequenceBias> sequence_bias = {};

  /// OpenAI's logit_bias: tokens and what to add to their logits, from -100 to 100.
  std::vector<std::pair<TokenId, float>> logit_bias = {};

  /// OpenAI's penalties for tokens that the continuation has already: each such token loses
  /// presence_penalty + frequency_penalty * (how often it was written). From -2 to 2; negative
  /// numbers reward repetition. Tokens of the prompt do not count.
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;  ///< see presence_penalty

  /// Divide the score of each token of the prompt and the continuation by this if it is positive,
  /// and multiply it if it is negative. From kMinPenalty to kMaxPenalty; above 1 discourages
  /// repetition.
  float repetition_penalty = 1.0f;

  /// Remove every token that would complete a sequence of so many tokens that the text has already.
  /// 0: none. Takes as many comparisons as the text has tokens, times the size at worst.
  std::size_t no_repeat_ngram_size = 0;

  /// Sequences of tokens that are never completed. A sequence that is just one of the tokens that
  /// end texts has no effect.
  std::vector<std::vector<TokenId>> bad_words_ids = {};

  /// Remove the tokens that end texts while there are fewer tokens than this, the prompt included.
  std::size_t min_length = 0;
  std::size_t min_new_tokens = 0;  ///< the same for the tokens after the prompt

  /// The second token of the sequence if the prompt has only one.
  std::optional<TokenId> forced_bos_token_id = {};

  /// If the text reaches its max length, its last token is one of these. Greedy decoding chooses
  /// the one with the lowest id.
  std::vector<TokenId> forced_eos_token_id = {};

  /// Turn NaN into 0 and infinities into the largest finite numbers, instead of refusing logits
  /// with NaN or +infinity. The scores of tokens that the options above have removed are -infinity,
  /// so they become finite, too.
  bool remove_invalid_values = false;

  /// When the continuation has n > 0 tokens more than `start`, raise the scores s of the tokens
  /// that end texts: s + |s| * (factor^n - 1). Removed tokens stay removed, whereas HuggingFace
  /// makes NaN of their scores.
  std::optional<ExponentialDecay> exponential_decay_length_penalty = {};

  std::vector<TokenId> suppress_tokens = {};        ///< tokens that are never chosen
  std::vector<TokenId> begin_suppress_tokens = {};  ///< never as the first token after the prompt

  /// Functions of the caller's, called in this order.
  std::vector<LogitsProcessor> processors = {};

  /// Turn the scores into log-probabilities at the end, which changes no probability.
  bool renormalize_logits = false;
};

/// What some options refer to, besides the scores and the tokens so far. `generate` sets it.
///
/// A plain value: copies are independent.
struct SequenceLimits {
  std::vector<TokenId> eos_token_id = {};  ///< tokens that end the text; unknown ones are ignored
  std::size_t prompt_length = 0;           ///< the first tokens of `ids`, before the continuation
  std::size_t max_length = std::numeric_limits<std::size_t>::max();  ///< including the prompt

  /// The number of tokens of the text that stood before `ids` but are no longer among them. Noise
  /// counts them, so that it never repeats within a text.
  std::size_t dropped = 0;

  /// The fewest tokens that each of the filters top_k ... eta_cutoff keeps. Beam search needs more
  /// than one.
  std::size_t min_tokens_to_keep = 1;
};

}  // namespace gpt2
