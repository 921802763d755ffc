#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpt2/token_id.h"

namespace gpt2 {

/// How tokens are drawn, with HuggingFace's words and rules: logits are divided by temperature,
/// then top_k removes tokens, then top_p. The defaults draw from all tokens as the model predicts
/// them.
struct SamplingOptions {
  /// The lowest temperature other than 0. Logits divided by less could overflow.
  static constexpr float kMinTemperature = 1e-6f;

  /// Below 1, likely tokens become likelier; above 1, unlikely ones do. Finite and at least
  /// kMinTemperature; or 0: always the most probable token (greedy).
  float temperature = 1.0f;

  /// Keep the k largest logits, and those equal to the last of them. 0: keep all.
  std::size_t top_k = 0;

  /// Keep the smallest set of tokens, most probable first, whose probabilities add up to at least
  /// p, from 0 to 1. At least one token is kept.
  float top_p = 1.0f;

  std::uint64_t seed = 0;      ///< the same seed draws the same tokens, on every machine
  std::uint64_t sequence = 0;  ///< sequences that share a seed draw independently of one another
};

/// Draws tokens from logits. The token drawn depends on the options, the position and the logits
/// alone, not on what was drawn before. Noise comes from a counter-based generator (Philox 4x32-10,
/// Salmon et al. 2011, https://doi.org/10.1145/2063384.2063405) whose key is (seed, sequence) and
/// whose counter is (position, token id). The token is the argmax of logit plus Gumbel noise over
/// the tokens kept, which has exactly the softmax distribution.
///
/// Two samplers with the same options draw the same token from the same logits at the same
/// position, whatever they drew before, so a sampler may be copied or made anew at any point of a
/// text.
///
/// Belongs to one thread at a time. Cost: about 20 bytes for each token of the vocabulary; drawing
/// allocates nothing.
///
/// Example:
///   Session session(model);
///   Sampler sampler({.temperature = 0.8f, .top_k = 40}, model.config().vocab_size);
///   std::span<const float> logits = session.forward(tokenizer.encode("Once upon"));
///   for (int i = 0; i < 10; ++i) {
///     const TokenId token = sampler.sample(logits, session.position());
///     logits = session.forward(std::span(&token, 1));
///   }
class Sampler {
 public:
  /// For logits of vocab_size tokens. Throws Error(invalid_argument) for a temperature or a top_p
  /// outside its range, and Error(unsupported) for an unusable GPT2_ISA.
  Sampler(const SamplingOptions& options, std::size_t vocab_size);

  /// The logits after temperature, top_k and top_p: -infinity where a token was removed. With
  /// temperature 0 only the most probable token is left, with its logit. The span lives until the
  /// next call. Throws Error(invalid_argument) if there are not vocab_size logits, if one is NaN or
  /// +infinity, or if all are -infinity.
  [[nodiscard]] std::span<const float> process(std::span<const float> logits);

  /// Draws the token for `position`, which is the number of tokens before it in the sequence. Of
  /// equal values the lower id wins. Throws as process does.
  [[nodiscard]] TokenId sample(std::span<const float> logits, std::size_t position);

 private:
  void check(std::span<const float> logits) const;
  void keep_top_k();
  void keep_top_p();
  void add_noise(std::size_t position);

  SamplingOptions options_;
  std::vector<float> scores_;        // (vocab_size): -infinity where removed
  std::vector<float> noise_;         // (vocab_size)
  std::vector<std::uint32_t> bits_;  // (vocab_size rounded up to 4)
  std::vector<std::uint32_t> order_;
};

}  // namespace gpt2
