#include <cmath>
#include <iterator>
#include <utility>

#include "requests/answer/numbers.h"
#include "requests/run/run.h"

namespace gpt2 {
namespace {

// An observer that keeps the inputs of the LayerNorms and, if the request asks for them, the
// attention weights. The input of ln_2 is that of ln_1 plus the output of attention, added as the
// pass adds it.
Observer keeper(InspectionResult& result, bool with_attention, const Config& config) {
  result.inputs.resize(2 * config.n_layer + 1);
  if (with_attention) result.attention.resize(config.n_layer * config.n_head);
  const auto see = [&result, n_head = config.n_head](const Observation& seen) {
    for (std::size_t i = 0; i < seen.rows; ++i) {
      std::span<const float> row = seen.row(i);
      if (seen.what == Observed::attention_weights) {
        row = row.first(seen.first + i + 1);
        std::vector<float>& weights = result.attention[seen.layer * n_head + seen.head];
        weights.insert(weights.end(), row.begin(), row.end());
      } else if (seen.what == Observed::attn_output) {
        const std::vector<float>& before = result.inputs[NormIndex::ln_1(seen.layer)];
        std::vector<float>& input = result.inputs[NormIndex::ln_2(seen.layer)];
        for (const float added : row) input.push_back(before[input.size()] + added);
      } else {
        const bool is_first = seen.what == Observed::embeddings;
        std::vector<float>& input = result.inputs[is_first ? 0 : NormIndex::ln_1(seen.layer + 1)];
        input.insert(input.end(), row.begin(), row.end());
      }
    }
  };
  const auto wants = [with_attention](Observed what, std::size_t) {
    return what == Observed::embeddings || what == Observed::attn_output ||
           what == Observed::block_output ||
           (with_attention && what == Observed::attention_weights);
  };
  return {.see = see, .wants = wants};
}

// |x - other| / |other| for each token.
std::vector<float> distances(std::span<const float> x, std::span<const float> other,
                             std::size_t n_embd) {
  std::vector<float> distance;
  for (std::size_t begin = 0; begin < x.size(); begin += n_embd) {
    double apart = 0.0, size = 0.0;
    for (std::size_t i = begin; i < begin + n_embd; ++i) {
      const double theirs = other[i], difference = x[i] - theirs;
      apart += difference * difference;
      size += theirs * theirs;
    }
    distance.push_back(static_cast<float>(std::sqrt(apart / size)));
  }
  return distance;
}

}  // namespace

std::vector<ScoringResult> run_scoring(const Engine& engine,
                                       std::span<const ScoringRequest> requests,
                                       const std::function<void(double)>& progress) {
  std::vector<ScoringResult> results;
  if (requests.empty()) return results;
  ScoreOptions options = requests.front().options;
  if (requests.front().is_question()) {
    std::vector<ChoiceQuestion> questions;
    for (const ScoringRequest& request : requests) questions.push_back(request.question);
    for (auto& scores : score_choices(engine, questions, options.top_logprobs, progress)) {
      results.push_back({.choices = std::move(scores)});
    }
    return results;
  }
  std::vector<std::vector<TokenId>> texts;
  for (const ScoringRequest& request : requests) {
    texts.insert(texts.end(), request.texts.begin(), request.texts.end());
  }
  options.progress = progress;
  std::vector<TextScore> scores = score(engine, texts, options);
  auto next = std::make_move_iterator(scores.begin());
  for (const ScoringRequest& request : requests) {
    const auto begin = next;
    next += static_cast<std::ptrdiff_t>(request.texts.size());
    results.push_back({.texts = {begin, next}});
  }
  return results;
}

std::vector<Json> score_lines(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                              std::span<const ScoringRequest> lines,
                              const std::function<void(double)>& progress) {
  std::vector<Json> records;
  for (const ScoringResult& result : run_scoring(engine, lines, progress)) {
    records.push_back(scoring_json(lines[records.size()], result, engine.model(), tokenizer));
  }
  return records;
}

InspectionResult run_inspection(const Engine& engine, const InspectionRequest& request,
                                const std::function<void(double)>& progress) {
  const Config& config = engine.model().config();
  const auto inspect_once = [&](InspectionResult& result, bool is_changed, double done) {
    const double share = request.changes.empty() ? 1.0 : 0.5;
    InspectOptions options = {.top = request.top};
    options.observer = keeper(result, is_changed && request.with_attention, config);
    if (is_changed) add_changes(options.observer, request.changes, config);
    if (progress) options.progress = [&](double part) { progress(done + share * part); };
    result.found = inspect(engine, request.tokens, options);
  };
  InspectionResult result;
  inspect_once(result, true, 0.0);
  if (request.changes.empty()) return result;
  InspectionResult other;
  inspect_once(other, false, 0.5);
  for (std::size_t norm = 0; norm < result.inputs.size(); ++norm) {
    result.distance.push_back(distances(result.inputs[norm], other.inputs[norm], config.n_embd));
  }
  result.unchanged = std::move(other.found);
  return result;
}

}  // namespace gpt2
