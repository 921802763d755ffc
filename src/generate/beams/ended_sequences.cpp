#include "generate/beams/ended_sequences.h"

#include <algorithm>
#include <cmath>

namespace gpt2 {
namespace {

// Returns base^exponent with the same bits on every machine, unlike pow(). It writes the exponent
// as a sum of powers of two, so it needs only multiplications and square roots, which are exactly
// rounded everywhere.
double power(double base, double exponent) {
  double rest = std::abs(exponent);
  double result = 1.0;
  double factor = base;  // base^(2^i)
  for (auto whole = static_cast<unsigned>(rest); whole != 0; whole /= 2, factor *= factor) {
    if (whole % 2 != 0) result *= factor;
  }
  rest -= std::floor(rest);
  for (factor = base; rest != 0.0; rest -= std::floor(rest)) {
    factor = std::sqrt(factor);
    rest *= 2.0;
    if (rest >= 1.0) result *= factor;
  }
  return exponent < 0.0 ? 1.0 / result : result;
}

}  // namespace

EndedSequences::EndedSequences(std::size_t count, std::size_t max_length,
                               const BeamOptions& options)
    : count_(count),
      max_length_(max_length),
      length_penalty_(options.length_penalty),
      early_stopping_(options.early_stopping) {}

double EndedSequences::score(float sum, std::size_t length) const {
  return static_cast<double>(sum) / power(static_cast<double>(length), length_penalty_);
}

void EndedSequences::add(float sum, std::size_t length, std::span<const TokenId> tokens,
                         FinishReason reason) {
  const double added = score(sum, length);
  if (is_full()) {
    const auto worst = std::ranges::min_element(list_, {}, &BeamSequence::score);
    if (added <= worst->score) return;
    list_.erase(worst);
  }
  list_.push_back(
      {.tokens = {tokens.begin(), tokens.end()}, .score = added, .finish_reason = reason});
}

bool EndedSequences::is_final(float best_sum, std::size_t length) const {
  if (!is_full()) return false;
  if (early_stopping_ == EarlyStopping::yes) return true;
  const bool grows = early_stopping_ == EarlyStopping::never && length_penalty_ > 0.0;
  const double attainable = score(best_sum, grows ? max_length_ : length);
  return std::ranges::min(list_, {}, &BeamSequence::score).score >= attainable;
}

}  // namespace gpt2
