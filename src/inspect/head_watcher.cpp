#include <algorithm>
#include <limits>
#include <map>

#include "generate/sampling/softmax.h"
#include "inspect/pass_record.h"

namespace gpt2 {
namespace {

float entropy_of(std::span<const float> weights) {
  double sum = 0.0;
  for (const float weight : weights) {
    // log_of() is defined for normal numbers. A smaller weight would add less than 1e-35.
    if (weight < std::numeric_limits<float>::min()) continue;
    sum -= static_cast<double>(weight) * static_cast<double>(log_of(weight));
  }
  return static_cast<float>(std::max(sum, 0.0));  // one weight may be a little more than 1
}

float distance_of(std::span<const float> weights) {
  double sum = 0.0;
  for (std::size_t key = 0; key < weights.size(); ++key) {
    sum += static_cast<double>(weights[key]) * static_cast<double>(weights.size() - 1 - key);
  }
  return static_cast<float>(sum);
}

}  // namespace

HeadWatcher::HeadWatcher(std::span<const TokenId> tokens, std::size_t n_layer, std::size_t n_head)
    : earlier_(tokens.size()),
      heads_(n_layer, std::vector<HeadInspection>(n_head)),
      scores_(n_layer, std::vector<Scores>(n_head)) {
  std::map<TokenId, std::vector<std::size_t>> positions;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::vector<std::size_t>& same = positions[tokens[i]];
    earlier_[i] = same;
    same.push_back(i);
  }
}

void HeadWatcher::see(const Observation& seen) {
  HeadInspection& head = heads_[seen.layer][seen.head];
  Scores& scores = scores_[seen.layer][seen.head];
  for (std::size_t i = 0; i < seen.rows; ++i) {
    const std::size_t query = seen.first + i;
    const std::span<const float> weights = seen.row(i).first(query + 1);
    head.entropy.push_back(entropy_of(weights));
    head.distance.push_back(distance_of(weights));
    if (query == 0) continue;
    scores.previous_token.add(weights[query - 1]);
    scores.first_token.add(weights[0]);
    if (earlier_[query].empty()) continue;
    double same = 0.0, next = 0.0;
    for (const std::size_t key : earlier_[query]) {
      same += weights[key];
      next += weights[key + 1];
    }
    scores.duplicate_token.add(same);
    scores.induction.add(next);
  }
}

std::optional<float> HeadWatcher::Mean::value() const {
  if (count == 0) return std::nullopt;
  return static_cast<float>(sum / static_cast<double>(count));
}

std::vector<std::vector<HeadInspection>> HeadWatcher::take() {
  for (std::size_t layer = 0; layer < heads_.size(); ++layer) {
    for (std::size_t head = 0; head < heads_[layer].size(); ++head) {
      const Scores& scores = scores_[layer][head];
      heads_[layer][head].previous_token = scores.previous_token.value();
      heads_[layer][head].first_token = scores.first_token.value();
      heads_[layer][head].duplicate_token = scores.duplicate_token.value();
      heads_[layer][head].induction = scores.induction.value();
    }
  }
  return std::move(heads_);
}

}  // namespace gpt2
