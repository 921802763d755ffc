#include "generate/writing/draft_length.h"

#include <algorithm>

namespace gpt2 {
namespace {

// The weight of a new measurement. The speed of a shared machine changes within seconds, and one
// measurement may be disturbed.
constexpr double kWeight = 0.2;

// The factor by which each pass reduces the earlier counts of accepted and refused tokens, so that
// the counts cover about the last 20 passes.
constexpr double kMemory = 0.95;

// The counts that are assumed before any measurement: 3 accepted tokens and 1 refused one.
constexpr double kPriorAccepted = 3.0;
constexpr double kPriorRefused = 1.0;

// The share of the time that useless drafts may cost.
constexpr double kMaxLoss = 0.01;

// After this many passes with drafts, a pass without drafts measures the plain time again.
constexpr std::size_t kRefresh = 64;

void take_mean(double& mean, double value, bool is_first) {
  mean = is_first ? value : (1.0 - kWeight) * mean + kWeight * value;
}

}  // namespace

void DraftLength::set_texts(std::size_t texts) noexcept {
  if (texts == texts_) return;
  texts_ = texts;
  plain_ = 0.0;
  knows_drafts_ = false;
  passes_ = 0;
}

double DraftLength::agreement() const {
  const double all = accepted_ + refused_ + kPriorAccepted + kPriorRefused;
  return (accepted_ + kPriorAccepted) / all;
}

std::size_t DraftLength::next(std::size_t max, std::size_t drafting) const {
  if (plain_ == 0.0 || passes_ >= kRefresh) return 0;
  // The cost of the first draft is not known yet. Therefore it is short, and it is made only if the
  // account is not overdrawn.
  const std::size_t first = texts_ == 1 ? 2 : 1;
  if (!knows_drafts_) return account_ < 0.0 ? 0 : std::min(max, first);
  const double p = agreement();
  const double cost = draft_ + static_cast<double>(drafting) * row_;  // of one token for each text
  const auto others = static_cast<double>(texts_ - std::min(drafting, texts_));
  std::size_t best = 0;
  double best_speed = static_cast<double>(texts_) / plain_;
  double tokens = 1.0;
  double power = 1.0;  // p^k
  for (std::size_t k = 1; k <= max; ++k) {
    const double costs = static_cast<double>(k) * cost;
    if (costs > account_ + plain_) break;
    power *= p;
    tokens += power;
    const double speed = (others + static_cast<double>(drafting) * tokens) / (plain_ + costs);
    if (speed > best_speed) {
      best = k;
      best_speed = speed;
    }
  }
  return best;
}

void DraftLength::note_plain(double seconds) {
  take_mean(plain_, seconds, plain_ == 0.0);
  passes_ = 0;
  account_ += kMaxLoss * seconds;
  // Reduce the counts slowly, so that drafts are tried again after a while, when the text may have
  // become easier to draft.
  accepted_ *= 1.0 - kMaxLoss;
  refused_ *= 1.0 - kMaxLoss;
}

void DraftLength::note_drafts(const DraftedPass& pass) {
  accepted_ = kMemory * accepted_ + static_cast<double>(pass.accepted);
  refused_ = kMemory * refused_ + static_cast<double>(pass.refused);
  ++passes_;
  if (plain_ == 0.0) return;  // with constant_draft, there may be no plain pass to compare with
  const auto drafted = static_cast<double>(pass.drafted);
  double added = 0.0;  // to the pass, by these tokens
  if (pass.drafted != 0) {
    added = (pass.check_seconds - plain_) * drafted / static_cast<double>(pass.all_drafted);
    take_mean(row_, std::max(0.0, added) / drafted, !knows_drafts_);
  }
  if (pass.steps != 0) {
    take_mean(draft_, pass.draft_seconds / static_cast<double>(pass.steps), !knows_drafts_);
  }
  knows_drafts_ = true;
  const double saved = static_cast<double>(pass.accepted) * plain_ / static_cast<double>(texts_);
  account_ += saved - pass.draft_seconds - added;
}

}  // namespace gpt2
