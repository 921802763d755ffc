#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpt2/sampling_options.h"
#include "gpt2/types.h"

namespace [[gnu::visibility("default")]] gpt2 {

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
  /// affect drawing (top_k ... eta_cutoff) do nothing. `ids` are all tokens so far, in order. The
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
  /// process() does, and also Error(invalid_argument) if the temperature is not 0 and the options
  /// have removed every token. (With temperature 0, it then returns 0, like HuggingFace.)
  [[nodiscard]] TokenId sample(std::span<const float> logits, std::span<const TokenId> ids);

 private:
  void check(std::span<const float> logits) const;
  std::optional<TokenId> draw(std::size_t position);

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

}  // namespace gpt2
