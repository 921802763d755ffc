#include "gpt2/score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/fail.h"
#include "base/system/threads.h"
#include "generate/sampling/softmax.h"
#include "generate/score/score_tasks.h"
#include "generate/writing/tokens.h"

namespace gpt2 {
namespace {

// The score of a token that no window scores.
const TokenLogprob kUnscored = {std::numeric_limits<float>::quiet_NaN(), 0, {}};

// Returns the sum in double, from the first to the last.
double sum_of_logprobs(std::span<const TokenLogprob> scores) {
  double sum = 0.0;
  for (const TokenLogprob& score : scores) sum += static_cast<double>(score.logprob);
  return sum;
}

// Adds the tasks that score the windows of a text.
void add_tasks(std::vector<ScoreTask>& tasks, std::span<const TokenId> text, TextScore& score) {
  const std::span scores = score.tokens;
  for (const auto& [begin, first, end, labels, nll] : score.windows) {
    if (first == end) continue;
    tasks.push_back({text.subspan(begin, first - begin),
                     {{text.subspan(first, end - first), scores.subspan(first, end - first)}}});
  }
}

}  // namespace

std::vector<ScoredWindow> windows_of(std::size_t tokens, std::size_t context, std::size_t stride) {
  std::vector<ScoredWindow> windows;
  std::size_t reached = 0;  // the end of the previous window
  for (std::size_t begin = 0; reached < tokens; begin += stride) {
    const std::size_t end = std::min(begin + context, tokens);
    windows.push_back({begin, std::max(reached, begin + 1), end, end - reached});
    reached = end;
  }
  return windows;
}

ScoreOptions ScoreOptions::resolved(const Config& config) const {
  ScoreOptions options = *this;
  if (options.context == 0) options.context = config.n_positions;
  if (options.context < 2 || options.context > config.n_positions) {
    reject("context: expected from 2 to the model's ", config.n_positions, " positions, found ",
           options.context);
  }
  if (options.stride == 0) options.stride = std::min<std::size_t>(512, options.context / 2);
  if (options.stride > options.context) {
    reject("stride: expected from 1 to the context of ", options.context, " tokens, found ",
           options.stride);
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
    check_tokens(texts[i], config.vocab_size, concat("text ", i + 1));
  }

  std::vector<TextScore> scores(texts.size());
  std::vector<ScoreTask> tasks;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    scores[i] = {std::vector<TokenLogprob>(texts[i].size(), kUnscored),
                 windows_of(texts[i].size(), options.context, options.stride)};
    add_tasks(tasks, texts[i], scores[i]);
  }
  score_tasks(engine, tasks, options.top_logprobs, options.progress);
  for (TextScore& text : scores) {
    for (ScoredWindow& window : text.windows) {
      const std::span<const TokenLogprob> all(text.tokens);
      window.nll = -sum_of_logprobs(all.subspan(window.first, window.end - window.first));
    }
  }
  return scores;
}

void ChoiceQuestion::check(const Config& config) const {
  if (context.empty()) {
    reject(
        "the context has no tokens, so nothing predicts the first token of a choice: give at "
        "least one, for example the end-of-text token");
  }
  check_tokens(context, config.vocab_size, "the context");
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].empty()) reject("choice ", i + 1, " has no tokens: give at least one");
    check_tokens(choices[i], config.vocab_size, concat("choice ", i + 1));
    const std::size_t tokens = context.size() + choices[i].size();
    if (tokens > config.n_positions + 1) {
      reject("the context and choice ", i + 1, " have ", tokens,
             " tokens, but the model takes at most ", config.n_positions + 1,
             ": shorten the context");
    }
  }
}

std::vector<std::vector<ChoiceScore>> score_choices(
    const Engine& engine, std::span<const ChoiceQuestion> questions, std::size_t top_logprobs,
    const std::function<void(double share)>& progress) {
  const DefaultFloatState state;
  const Config& config = engine.model().config();
  check_top_logprobs(top_logprobs, config.vocab_size);
  std::vector<std::vector<ChoiceScore>> scores;
  std::vector<ScoreTask> tasks;
  for (const ChoiceQuestion& question : questions) {
    try {
      question.check(config);
    } catch (const Error& error) {
      if (questions.size() == 1) throw;
      throw Error(error.code(), concat("question ", scores.size() + 1, ": ", error.what()));
    }
    auto& of_question = scores.emplace_back(question.choices.size());
    if (of_question.empty()) continue;
    ScoreTask& task = tasks.emplace_back(ScoreTask{question.context, {}});
    for (std::size_t i = 0; i < of_question.size(); ++i) {
      of_question[i].tokens.resize(question.choices[i].size());
      task.continuations.push_back({question.choices[i], of_question[i].tokens});
    }
  }
  score_tasks(engine, tasks, top_logprobs, progress);
  for (auto& of_question : scores) {
    for (ChoiceScore& score : of_question) {
      score.sum = sum_of_logprobs(score.tokens);
      score.mean = score.sum / static_cast<double>(score.tokens.size());
      score.greedy_match = std::ranges::all_of(score.tokens, [](const TokenLogprob& token) {
        return token.rank == 0 && !std::isnan(token.logprob);
      });
    }
  }
  return scores;
}

}  // namespace gpt2
