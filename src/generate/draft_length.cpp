#include "generate/draft_length.h"

#include <algorithm>

namespace gpt2 {
namespace {

// The weight of a new measurement. The speed of a shared machine changes within seconds, and one
// measurement may be disturbed.
constexpr double kWeight = 0.2;

// What one pass leaves of the counts of accepted and refused tokens: they are those of about the
// last 20 passes.
constexpr double kMemory = 0.95;

// What is assumed before anything is known: 3 accepted tokens and 1 refused one.
constexpr double kPriorAccepted = 3.0;
constexpr double kPriorRefused = 1.0;

// The share of the time that useless drafts may cost.
constexpr double kMaxLoss = 0.01;

// After so many passes with drafts, one without measures the plain pass again.
constexpr std::size_t kRefresh = 64;

// The first drafts, before it is known what they cost.
constexpr std::size_t kFirstDraft = 2;

void take_mean(double& mean, double value) {
  mean = mean == 0.0 ? value : (1.0 - kWeight) * mean + kWeight * value;
}

}  // namespace

double DraftLength::agreement() const {
  const double all = accepted_ + refused_ + kPriorAccepted + kPriorRefused;
  return (accepted_ + kPriorAccepted) / all;
}

double DraftLength::cost(std::size_t drafted) const {
  return static_cast<double>(drafted) * (draft_ + row_);
}

std::size_t DraftLength::next(std::size_t max) const {
  if (plain_ == 0.0 || passes_ >= kRefresh) return 0;
  if (draft_ == 0.0) return std::min(max, kFirstDraft);
  const double p = agreement();
  std::size_t best = 0;
  double best_speed = 1.0 / plain_;
  double tokens = 1.0;
  double power = 1.0;  // p^k
  for (std::size_t k = 1; k <= max && cost(k) <= account_ + plain_; ++k) {
    power *= p;
    tokens += power;
    const double speed = tokens / (plain_ + cost(k));
    if (speed > best_speed) {
      best = k;
      best_speed = speed;
    }
  }
  return best;
}

void DraftLength::note_plain(double seconds) {
  take_mean(plain_, seconds);
  passes_ = 0;
  account_ += kMaxLoss * seconds;
  // Forget slowly, so that drafts are tried again when the text may have become easier.
  accepted_ *= 1.0 - kMaxLoss;
  refused_ *= 1.0 - kMaxLoss;
}

void DraftLength::note_drafts(std::size_t drafted, std::size_t accepted, double draft_seconds,
                              double check_seconds) {
  const auto rows = static_cast<double>(drafted);
  take_mean(draft_, draft_seconds / rows);
  take_mean(row_, std::max(0.0, check_seconds - plain_) / rows);
  accepted_ = kMemory * accepted_ + static_cast<double>(accepted);
  refused_ = kMemory * refused_ + (accepted < drafted ? 1.0 : 0.0);
  account_ += static_cast<double>(accepted + 1) * plain_ - draft_seconds - check_seconds;
  ++passes_;
}

}  // namespace gpt2
