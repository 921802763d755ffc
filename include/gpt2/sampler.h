#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpt2/config.h"

namespace gpt2 {

/// HuggingFace's words and rules: logits / temperature, then top_k, then top_p.
struct SamplingOptions {
  static constexpr float kLeastTemperature = 1e-6f;
  float temperature = 1.0f;  ///< at least that; or 0: the most probable token (greedy)
  std::size_t top_k = 0;     ///< keep the k largest logits, and what ties with the last; 0: all
  float top_p = 1.0f;        ///< keep the smallest set of tokens whose probabilities reach p
  std::uint64_t seed = 0;
  std::uint64_t sequence = 0;  ///< tells apart the sequences that share a seed
};

/// Draws tokens. The token drawn depends on the options, the position and the logits alone: noise
/// comes from a counter-based generator (Philox 4x32-10, Salmon et al. 2011) keyed by (seed,
/// sequence) with counter (position, token id), and the token is the argmax of logit + Gumbel noise
/// over those kept, which has exactly the softmax distribution. Belongs to one thread.
class Sampler {
 public:
  /// Throws Error(invalid_argument) for another temperature, or a top_p outside [0, 1].
  Sampler(const SamplingOptions& options, std::size_t vocab_size);

  /// The logits after temperature, top_k and top_p: -infinity where a token was removed. With
  /// temperature 0 only the most probable token is left, with its logit. The span lives until the
  /// next call. Throws Error(invalid_argument) if there are not vocab_size logits, if one is NaN or
  /// +infinity, or if all are -infinity.
  [[nodiscard]] std::span<const float> process(std::span<const float> logits);

  /// The token for `position`, the number of tokens before it. Ties go to the lower id.
  /// Throws as process does.
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
