#include "gpt2/score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/fail.h"
#include "base/float_state.h"
#include "generate/check_tokens.h"
#include "generate/logprobs.h"
#include "generate/score_tasks.h"
#include "generate/score_windows.h"

namespace gpt2 {
namespace {

constexpr TokenLogprob kUnscored = {std::numeric_limits<float>::quiet_NaN(), 0, {}};

// The sum of the log-probabilities in double, from the first to the last.
double sum_of(std::span<const TokenLogprob> tokens) {
  double sum = 0.0;
  for (const TokenLogprob& token : tokens) sum += static_cast<double>(token.logprob);
  return sum;
}

}  // namespace

ScoreOptions ScoreOptions::resolved(const Config& config) const {
  ScoreOptions options = *this;
  if (options.context == 0) options.context = config.n_positions;
  if (options.context < 2 || options.context > config.n_positions) {
    reject("the context of a score must be from 2 to the model's ", config.n_positions,
           " positions, got ", options.context);
  }
  if (options.stride == 0) options.stride = std::min<std::size_t>(512, options.context / 2);
  if (options.stride > options.context) {
    reject("the stride of a score must be from 1 to its context of ", options.context,
           " tokens, got ", options.stride);
  }
  check_top_logprobs(options.top_logprobs, config.vocab_size);
  return options;
}

std::vector<TextScore> score(const Engine& engine, std::span<const std::vector<TokenId>> texts,
                             const ScoreOptions& given) {
  const DefaultFloatState state;
  const Config& config = engine.model().config();
  const ScoreOptions options = given.resolved(config);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    check_tokens(texts[i], config, concat("text ", i + 1));
  }

  std::vector<TextScore> scores(texts.size());
  std::vector<ScoreTask> tasks;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    scores[i] = {std::vector<TokenLogprob>(texts[i].size(), kUnscored),
                 windows_of(texts[i].size(), options.context, options.stride)};
    for (const auto& [begin, first, end, labels, nll] : scores[i].windows) {
      tasks.push_back({std::span(texts[i]).subspan(begin, end - begin),
                       std::span(scores[i].tokens).subspan(first, end - first)});
    }
  }
  score_tasks(engine, tasks, options.top_logprobs, options.progress);
  for (TextScore& text : scores) {
    for (ScoredWindow& window : text.windows) {
      window.nll = -sum_of(std::span(text.tokens).subspan(window.first, window.end - window.first));
    }
  }
  return scores;
}

namespace {

void check_choices(std::span<const TokenId> context, std::span<const std::vector<TokenId>> choices,
                   const Config& config) {
  if (context.empty()) {
    reject(
        "the context has no tokens, so nothing predicts the first token of a choice: give at "
        "least one, for example the end-of-text token");
  }
  check_tokens(context, config, "the context");
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].empty()) reject("choice ", i + 1, " has no tokens: give at least one");
    check_tokens(choices[i], config, concat("choice ", i + 1));
    const std::size_t tokens = context.size() + choices[i].size();
    if (tokens > config.n_positions + 1) {
      reject("the context and choice ", i + 1, " have ", tokens,
             " tokens, but the model takes at most ", config.n_positions + 1,
             ": shorten the context");
    }
  }
}

}  // namespace

std::vector<ChoiceScore> score_choices(const Engine& engine, std::span<const TokenId> context,
                                       std::span<const std::vector<TokenId>> choices,
                                       std::size_t top_logprobs,
                                       const std::function<void(double share)>& progress) {
  const DefaultFloatState state;
  const Config& config = engine.model().config();
  check_choices(context, choices, config);
  check_top_logprobs(top_logprobs, config.vocab_size);
  // The last token of the context is read with each choice, because it predicts the first token.
  Session prefix(engine, {.max_tokens = context.size()});
  if (context.size() > 1) {
    const Slice slice{&prefix, context.first(context.size() - 1), {}};
    forward({&slice, 1});
  }
  std::vector<std::vector<TokenId>> texts;
  std::vector<ChoiceScore> scores(choices.size());
  std::vector<ScoreTask> tasks;
  texts.reserve(choices.size());  // the tasks refer to them
  for (std::size_t i = 0; i < choices.size(); ++i) {
    auto& text = texts.emplace_back(context.begin(), context.end());
    text.insert(text.end(), choices[i].begin(), choices[i].end());
    scores[i].tokens.resize(choices[i].size());
    tasks.push_back({text, scores[i].tokens, &prefix});
  }
  score_tasks(engine, tasks, top_logprobs, progress);
  for (ChoiceScore& score : scores) {
    score.sum = sum_of(score.tokens);
    score.mean = score.sum / static_cast<double>(score.tokens.size());
    score.greedy_match = std::ranges::all_of(score.tokens, [](const TokenLogprob& token) {
      return token.rank == 0 && !std::isnan(token.logprob);
    });
  }
  return scores;
}

}  // namespace gpt2
