#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gpt2/types.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// A function that changes the scores before a token is chosen. `scores` has one element for each
/// token of the vocabulary; a score of -infinity removes the token. `ids` are all tokens of the
/// sequence so far, including the prompt. The function must not write NaN. It may throw.
///
/// A seed gives the same text every time only if the function gives the same scores for the same
/// arguments. With GenerationOptions::draft, the function is also called with drafted ids that may
/// not become part of the text; a std::exception that it throws in such a call ends the draft, but
/// not the text. To end the text, return false from the sink.
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

/// A bias for the last of the ids. It is added to the score of that token if the text so far ends
/// with the other ids. If there is only one id, it is always added.
struct SequenceBias {
  std::vector<TokenId> ids;  ///< at least one
  float bias;                ///< finite, or -infinity, which removes the token
};

/// Makes the scores of the tokens that end a text grow with its length.
struct ExponentialDecay {
  std::size_t start;  ///< scores grow once the continuation has more tokens than this
  double factor;      ///< more than 0; above 1, the scores grow
};

/// How the next token is chosen from the logits, with HuggingFace's names, formulas and order. The
/// options act on the scores one after another: sequence_bias, logit_bias, presence_penalty and
/// frequency_penalty, repetition_penalty, and so on, in the order of the members below, up to
/// `processors`. If tokens are drawn, temperature and the filters top_h ... eta_cutoff follow.
/// renormalize_logits comes last.
///
/// logit_bias, presence_penalty and frequency_penalty come from OpenAI's API; HuggingFace does not
/// have them. They act so early because OpenAI defines them on the model's own logits, and so that
/// tokens that a later option removes or forces stay removed or forced.
///
/// With the defaults, tokens are drawn from the model's own distribution. (The command, the server,
/// C and Python have others: a temperature of 0.8, and a top_k of 40.) An option with its
/// default value costs nothing. The cost of an option that names tokens is proportional to the
/// number of these tokens.
///
/// option_fields.h has the range of each option. A number outside of it is refused.
///
/// A plain value: copies are independent if copies of the functions in `processors` are.
///
/// Example:
///   SamplingOptions options{.temperature = 0.8f, .top_k = 40, .seed = 7};
///   options.repetition_penalty = 1.2f;
///   options.bad_words_ids = {tokenizer.encode(" cat"), tokenizer.encode(" dog")};
struct SamplingOptions {
  /// Below 1, likely tokens become likelier; above 1, unlikely ones do. With 0, the token with the
  /// highest score is always chosen (greedy decoding), and the filters top_h ... eta_cutoff have no
  /// effect.
  float temperature = 1.0f;

  /// Keep the most probable of the 100 most probable tokens: as many as together have at most this
  /// share of the entropy of these tokens, and at least one. 0: keep all.
  float top_h = 0.0f;

  /// Keep the k largest scores, and all others that are equal to the smallest of these. 0: keep
  /// all.
  std::size_t top_k = 0;

  /// Keep the tokens whose score is at least max - n * sigma, where sigma is the standard deviation
  /// of the scores of all tokens that are left (Tang et al. 2024, "Top-n-sigma: Not All Logits Are
  /// You Need", https://arxiv.org/abs/2411.07641; llama.cpp has it, too). 0: keep all.
  float top_n_sigma = 0.0f;

  /// Keep the smallest set of tokens, most probable first, whose probabilities add up to at least
  /// p. At least one token is kept.
  float top_p = 1.0f;

  /// Remove tokens whose probability is less than this share of the highest one.
  float min_p = 0.0f;

  /// Locally typical sampling (Meister et al. 2022): take tokens in the order of how close their
  /// information (-log p) is to the entropy of the distribution, until their probabilities add up
  /// to at least this, and keep only these. 1 keeps all tokens.
  float typical_p = 1.0f;

  /// Remove tokens with a probability below this. The most probable token is kept.
  float epsilon_cutoff = 0.0f;

  /// Eta sampling (Hewitt et al. 2022): remove tokens with a probability below
  /// min(eta, sqrt(eta) * exp(-entropy)). The most probable token is kept.
  float eta_cutoff = 0.0f;

  std::uint64_t seed = 0;      ///< the same seed draws the same tokens, on every machine
  std::uint64_t sequence = 0;  ///< sequences that share a seed draw independently of one another

  /// Biases that depend on the preceding tokens. If several biases apply to one token, they are
  /// added up before their sum is added to the score.
  std::vector<SequenceBias> sequence_bias = {};

  /// OpenAI's logit_bias: tokens, and the numbers to add to their logits.
  std::vector<std::pair<TokenId, float>> logit_bias = {};

  /// OpenAI's penalties for tokens that already occur in the continuation: presence_penalty +
  /// frequency_penalty * (the number of occurrences) is subtracted from the score of each such
  /// token. Negative numbers reward repetition. Tokens of the prompt do not count.
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;  ///< see presence_penalty

  /// For each token that occurs in the prompt or the continuation: divide its score by this number
  /// if the score is positive, and multiply it if it is negative. A number above 1
  /// discourages repetition.
  float repetition_penalty = 1.0f;

  /// Remove every token that would complete a sequence of this many tokens that already occurs in
  /// the text. 0: off. Cost: at most (tokens of the text) * no_repeat_ngram_size comparisons.
  std::size_t no_repeat_ngram_size = 0;

  /// Sequences of tokens that must not occur: the last token of a sequence is removed after the
  /// others. A sequence that consists of a single token that ends texts has no effect.
  std::vector<std::vector<TokenId>> bad_words_ids = {};

  /// Remove the tokens that end texts while there are fewer tokens than this, including the prompt.
  /// Has no effect if min_new_tokens is given.
  std::size_t min_length = 0;

  /// The same, but counts only the tokens after the prompt.
  std::optional<std::size_t> min_new_tokens = {};

  /// If the prompt has only one token, this is the second token of the sequence.
  std::optional<TokenId> forced_bos_token_id = {};

  /// If the text reaches its max length, its last token is one of these. Greedy decoding chooses
  /// the one with the lowest id.
  std::vector<TokenId> forced_eos_token_id = {};

  /// Replace NaN by 0 and infinities by the largest finite numbers, instead of throwing if logits
  /// are NaN or +infinity. Tokens that the options above have removed have the score -infinity;
  /// their scores become finite, too.
  bool remove_invalid_values = false;

  /// When the continuation has n > 0 tokens more than `start`, raise the scores s of the tokens
  /// that end texts: s + |s| * (factor^n - 1). Removed tokens stay removed, whereas in HuggingFace
  /// their scores become NaN.
  std::optional<ExponentialDecay> exponential_decay_length_penalty = {};

  std::vector<TokenId> suppress_tokens = {};        ///< tokens that are never chosen
  std::vector<TokenId> begin_suppress_tokens = {};  ///< never as the first token after the prompt

  /// Functions that the caller supplies. They are called in this order.
  std::vector<LogitsProcessor> processors = {};

  /// Turn the scores into log-probabilities at the end. This changes no probability.
  bool renormalize_logits = false;
};

/// Facts about the text that some options need in addition to the scores and the tokens so far.
/// generate() sets them.
///
/// A plain value: copies are independent.
struct SequenceLimits {
  std::vector<TokenId> eos_token_id = {};  ///< tokens that end the text; unknown ones are ignored
  std::size_t prompt_length = 0;           ///< the first tokens of `ids`, before the continuation
  std::size_t max_length = std::numeric_limits<std::size_t>::max();  ///< including the prompt

  /// The number of tokens of the text that preceded `ids` and have been dropped. The position for
  /// which noise is generated includes them, so that noise never repeats within a text.
  std::size_t dropped = 0;

  /// The min number of tokens that each of the filters top_h ... eta_cutoff keeps. (In
  /// HuggingFace's beam search, this number is greater than 1.)
  std::size_t min_tokens_to_keep = 1;
};

struct Processing;  // the arguments of a logits processor; not part of the interface

/// Chooses tokens from logits. The token depends only on the options, the tokens so far and the
/// logits, and not on earlier calls. Noise comes from a counter-based generator (Philox 4x32-10,
/// Salmon et al. 2011, https://doi.org/10.1145/2063384.2063405) whose key is (seed, sequence) and
/// whose counter is (position, token id). The sampler adds Gumbel noise to the scores of the tokens
/// that are kept and chooses the token with the max sum. This choice has exactly the softmax
/// distribution.
///
/// Two samplers with the same options choose the same token from the same logits after the same
/// tokens, so a sampler may be copied, or replaced by a new one, at any point of a text.
///
/// Belongs to one thread at a time. Cost: about 24 bytes for each token of the vocabulary; choosing
/// allocates nothing. With temperature 0 and no other option, sample is an argmax.
///
/// Example:
///   Session session(model);
///   Sampler sampler({.temperature = 0.8f, .top_k = 40}, model.config().vocab_size);
///   std::span<const float> logits = session.forward(tokenizer.encode("Once upon"));
///   for (int i = 0; i < 10; ++i) {
///     const TokenId token = sampler.sample(logits, session.tokens());
///     logits = session.forward(std::span(&token, 1));
///   }
class Sampler {
 public:
  /// Makes a sampler for logits of vocab_size tokens, at least one. Throws Error(invalid_argument)
  /// for an option outside its range or an id outside the vocabulary, and Error(unsupported) for an
  /// unusable GPT2_ISA.
  Sampler(const SamplingOptions& options, std::size_t vocab_size,
          const SequenceLimits& limits = {});

  /// Returns the scores from which the token is chosen: the logits after all options have been
  /// applied. The score of a removed token is -infinity. With temperature 0, the options that only
  /// affect drawing (top_h ... eta_cutoff) do nothing. `ids` are all tokens so far, in order. The
  /// span is valid until the next call.
  ///
  /// Cost: a copy of the logits, plus the cost of each option that is set.
  ///
  /// Throws Error(invalid_argument) if there are not exactly vocab_size logits; if an option reads
  /// the ids and one of them is outside the vocabulary; if a logit is NaN or +infinity or all
  /// logits are -infinity, unless remove_invalid_values is set; and if one of
  /// SamplingOptions::processors writes NaN. Throws whatever such a function throws.
  [[nodiscard]] std::span<const float> process(std::span<const float> logits,
                                               std::span<const TokenId> ids);

  /// Chooses the token that follows `ids`. If values are equal, the lower id wins. Throws as
  /// process() does, and also Error(invalid_argument) if the options have removed every token.
  [[nodiscard]] TokenId sample(std::span<const float> logits, std::span<const TokenId> ids);

 private:
  void check(std::span<const float> logits) const;
  TokenId draw(std::size_t position);

  SamplingOptions options_;
  SequenceLimits limits_;
  std::vector<void (*)(const Processing&)> list_;  // the processors for the options
  std::vector<float> scores_;                      // (vocab_size): -infinity for removed tokens
  std::vector<float> noise_;                       // (vocab_size rounded up to 4)
  std::vector<float> drawn_;                       // the same size: scores of the tokens left, plus
                                                   // noise
  std::vector<float> keys_;                        // (vocab_size) if typical_p needs it
  std::vector<std::uint32_t> bits_;                // the same
  std::vector<std::uint32_t> order_;
};

}  // namespace gnu::visibility("default")]]gpt2
