#include <algorithm>
#include <cmath>
#include <limits>

#include "base/fail.h"
#include "generate/sampling/processor.h"
#include "generate/sampling/softmax.h"

namespace gpt2 {

constexpr float kLargest = std::numeric_limits<float>::max();

// The processors that use ids as indices rely on this one. It also runs before those that only
// compare ids, so that every option reports an unknown id in the same way.
void require_known_ids(const Processing& p) {
  const auto is_unknown = [&](TokenId id) {
    return id < 0 || static_cast<std::size_t>(id) >= p.scores.size();
  };
  const auto found = std::ranges::find_if(p.ids, is_unknown);
  if (found == p.ids.end()) return;
  reject("token ", found - p.ids.begin(), " of the sequence is ", *found,
         ", which is outside the vocabulary of ", p.scores.size());
}

void remove_invalid_values(const Processing& p) {
  for (float& score : p.scores) {
    score = std::isnan(score) ? 0.0f : std::clamp(score, -kLargest, kLargest);
  }
}

void call_processors(const Processing& p) {
  for (const LogitsProcessor& processor : p.options.processors) processor(p.scores, p.ids);
  const auto is_nan = [](float score) { return std::isnan(score); };
  const auto found = std::ranges::find_if(p.scores, is_nan);
  if (found == p.scores.end()) return;
  reject("a logits processor wrote NaN as the score of token ",
         found - p.scores.begin(), ": give every score a value, or -infinity to remove the token");
}

// Limits the scores first, because the processors before this one may have made a score infinite.
void renormalize(const Processing& p) {
  for (float& score : p.scores) score = std::min(score, kLargest);
  log_softmax(p.scratch, p.scores);
  std::ranges::copy(p.scratch, p.scores.begin());
}

}  // namespace gpt2
