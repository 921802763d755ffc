#include "gpt2/score.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <list>
#include <utility>

#include "base/fail.h"
#include "base/share.h"
#include "base/system/threads.h"
#include "generate/sampling/softmax.h"
#include "generate/writing/prompt_reader.h"
#include "generate/writing/tokens.h"
#include "gpt2/session.h"
#include "kernels/kernels.h"

namespace gpt2 {
namespace {

struct ScoredTokens {
  std::span<const TokenId> tokens;
  std::span<TokenLogprob> scores;  // of the same size: receives their scores
};

// A context, and continuations of it. The context is computed once, and each continuation is
// scored as if there were no other.
struct ScoreTask {
  std::span<const TokenId> context;  // read from position 0 on
  std::vector<ScoredTokens> continuations;
};

// The max number of rows of logits in a pass. All rows of a window of GPT-2 would take 200 MB. With
// fewer rows, packing the weights would take a larger share of the pass.
constexpr std::size_t kLogitsRows = 256;

// The keys and values of this many tokens of GPT-2 124M take 150 MB as f32. Many continuations of a
// few tokens would take more, because each has a copy of up to 255 tokens of its context.
constexpr std::size_t kEnoughTokens = 2048;

// A continuation that has begun and may continue in further passes.
//
// The first continuation of a task is read together with the context. The row of logits after the
// context scores the first tokens of all continuations, so a continuation of one token needs
// neither a row nor a session of its own. Each of the others has a session that begins as a copy of
// the one with the context.
struct Reading {
  const ScoreTask* task;
  const ScoredTokens* part;
  std::size_t next;      // the index of the next continuation to begin from this context
  std::size_t written;   // how many scores of this continuation have been written
  std::size_t rows = 0;  // how many rows of logits this pass computes for it
  std::size_t tokens;    // how many tokens the session takes memory for
  Session session;

  // The first continuation of a task.
  Reading(const Engine& engine, const ScoreTask& t)
      : task(&t),
        part(&t.continuations.front()),
        next(1),
        written(0),
        tokens(capacity()),
        session(engine, {.max_tokens = capacity()}) {
    session.append(t.context);
  }

  // Another one. REQUIRES: a pass has read the context in first.session.
  Reading(const Engine& engine, const Reading& first, const ScoredTokens& p)
      : task(first.task),
        part(&p),
        next(first.task->continuations.size()),
        written(1),
        tokens(capacity() - task->context.size() / kChunk * kChunk),
        session(engine, {.max_tokens = capacity()}) {
    session.assign(first.session, task->context.size());
  }

  [[nodiscard]] std::size_t capacity() const {
    return task->context.size() + part->tokens.size() - 1;
  }
  [[nodiscard]] std::size_t unwritten() const { return part->tokens.size() - written; }
  [[nodiscard]] bool is_over() const {
    return unwritten() == 0 && next == task->continuations.size();
  }

  // The tokens to read in this pass: up to the one before the last token that this pass scores. The
  // session may have other tokens that wait.
  [[nodiscard]] std::span<const TokenId> piece() const {
    const std::size_t begin = session.position() - task->context.size();
    return part->tokens.subspan(begin, written + rows - 1 - begin);
  }
};

class TaskReader {
 public:
  // `scores` is the total number of scores of all tasks.
  TaskReader(const Engine& engine, std::span<const ScoreTask> tasks, std::size_t scores,
             std::size_t top)
      : engine_(engine), vocab_size_(engine.model().config().vocab_size), tasks_(tasks), top_(top) {
    logits_.resize(std::min(scores, kLogitsRows) * vocab_size_);
    scratch_.resize(static_cast<std::size_t>(engine_.threads()) * vocab_size_);
  }

  // Runs a pass and returns the number of scores that it has written: 0 once all scores are
  // written.
  std::size_t pass() {
    readings_.remove_if([](const Reading& reading) { return reading.is_over(); });
    choose_rows();
    if (size_.logits == 0) return 0;
    std::vector<Slice> slices;
    const std::span<float> logits(logits_);
    std::size_t row = 0;
    for (Reading& reading : readings_) {
      if (reading.rows == 0) continue;
      const auto part = logits.subspan(row * vocab_size_, reading.rows * vocab_size_);
      slices.push_back({&reading.session, reading.piece(), part});
      row += reading.rows;
    }
    engine_.forward(slices);
    return write();
  }

 private:
  struct PassSize {
    std::size_t logits = 0;  // rows of logits
    std::size_t rows = 0;
    std::size_t tokens = 0;  // tokens that the sessions take memory for
  };

  [[nodiscard]] bool has_room() const {
    return size_.logits == 0 ||
           (size_.logits < kLogitsRows && size_.rows < kEnoughRows && size_.tokens < kEnoughTokens);
  }

  void take(Reading& reading) {
    size_.tokens += reading.tokens;
    reading.rows = std::min(reading.unwritten(), kLogitsRows - size_.logits);
    if (reading.rows == 0) return;
    size_.logits += reading.rows;
    size_.rows += reading.session.waiting() + reading.piece().size();
  }

  // Divides the rows of logits of a pass among the continuations that have begun, and begins others
  // while there is room. Continuations whose context has been read come first, so that its session
  // can be freed. The pass completes all of these continuations except possibly the last one.
  void choose_rows() {
    size_ = {};
    for (Reading& reading : readings_) take(reading);
    for (Reading& first : readings_) {
      for (; first.next < first.task->continuations.size() && has_room(); ++first.next) {
        const ScoredTokens& part = first.task->continuations[first.next];
        if (part.tokens.size() > 1) take(readings_.emplace_back(engine_, first, part));
      }
    }
    for (; next_ < tasks_.size() && has_room(); ++next_) {
      take(readings_.emplace_back(engine_, tasks_[next_]));
    }
  }

  // Scores the rows of the pass and returns how many scores there are. The engine's threads share
  // the rows: with two threads, scoring a row of 50,257 logits takes a few percent of the time that
  // the pass takes for the row.
  std::size_t write() {
    struct Score {
      std::size_t row;
      TokenId token;
      TokenLogprob* to;
    };
    std::vector<Score> all;
    std::size_t row = 0;
    const auto add = [&](const ScoredTokens& part, std::size_t i) {
      part.scores[i].top.resize(top_);
      all.push_back({row, part.tokens[i], &part.scores[i]});
    };
    for (Reading& reading : readings_) {
      for (const std::size_t end = row + reading.rows; row < end; ++row, ++reading.written) {
        if (reading.written > 0) {
          add(*reading.part, reading.written);
        } else {
          for (const ScoredTokens& part : reading.task->continuations) add(part, 0);
        }
      }
    }
    const std::span<const float> logits(logits_);
    engine_.for_each(all.size(), [&](std::size_t i, int rank) {
      const auto scratch =
          std::span(scratch_).subspan(static_cast<std::size_t>(rank) * vocab_size_, vocab_size_);
      write_logprob(*all[i].to, logits.subspan(all[i].row * vocab_size_, vocab_size_), all[i].token,
                    scratch);
    });
    return all.size();
  }

  Engine engine_;
  std::size_t vocab_size_;
  std::span<const ScoreTask> tasks_;
  std::size_t next_ = 0;  // the index of the first task that has not begun
  std::size_t top_;
  std::list<Reading> readings_;  // a list, because a new reading refers to another one
  PassSize size_;                // the size of the next pass
  std::vector<float> logits_;    // (up to kLogitsRows, vocab_size)
  std::vector<float> scratch_;   // (threads, vocab_size)
};

// Scores all tasks; many of them share a forward pass. A pass computes at most 256 rows of logits,
// and no further task is added to it once it has 512 rows, or once the sessions take memory for
// 2,048 tokens. Calls `progress`, unless it is empty, after each pass with the share of the scores
// that have been written. REQUIRES: each context and each continuation has a token; the context
// and any one continuation without its last token fit the model's context; all tokens are in the
// model's vocabulary; `top` is at most the size of the vocabulary.
void score_tasks(const Engine& engine, std::span<const ScoreTask> tasks, std::size_t top,
                 const std::function<void(double share)>& progress) {
  std::size_t total = 0;
  for (const ScoreTask& task : tasks) {
    for (const ScoredTokens& part : task.continuations) total += part.tokens.size();
  }
  TaskReader reader(engine, tasks, total, top);
  std::size_t written = 0;
  while (const std::size_t more = reader.pass()) {
    written += more;
    if (progress) progress(share_of(written, total));
  }
}

// Returns the windows for scoring a text with this many tokens. Their nll is 0. REQUIRES: 1 <=
// stride <= context.
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
