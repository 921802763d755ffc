#include "generate/beams/candidates.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace gpt2 {
namespace {

bool is_better(const Candidate& a, const Candidate& b) {
  return std::tuple(-a.sum, a.beam, a.token) < std::tuple(-b.sum, b.beam, b.token);
}

// Adds two numbers that are not NaN. The sum is neither NaN nor +infinity, not even if a function
// in SamplingOptions::processors has made scores infinite.
float add_limited(float a, float b) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  return std::min(a + std::min(b, kLargest), kLargest);
}

}  // namespace

void BestCandidates::consider(const Candidate& candidate) {
  if (heap_.size() == count_) {
    if (!is_better(candidate, heap_.front())) return;
    std::ranges::pop_heap(heap_, is_better);
    heap_.pop_back();
  }
  heap_.push_back(candidate);
  std::ranges::push_heap(heap_, is_better);
}

void BestCandidates::add(std::size_t beam, float sum, std::span<const float> scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const float total = add_limited(sum, scores[i]);
    // A shortcut: nearly all tokens are worse than the worst candidate.
    if (heap_.size() == count_ && total < heap_.front().sum) continue;
    consider({total, beam, static_cast<TokenId>(i)});
  }
}

void BestCandidates::merge(const BestCandidates& other) {
  for (const Candidate& candidate : other.heap_) consider(candidate);
}

std::span<const Candidate> BestCandidates::sorted() {
  std::ranges::sort(heap_, is_better);
  return heap_;
}

}  // namespace gpt2
