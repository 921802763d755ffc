#include "generate/score_tasks.h"

#include <algorithm>
#include <vector>

#include "base/float_state.h"
#include "generate/logprobs.h"
#include "model/engine_impl.h"

namespace gpt2 {
namespace {

// All rows of a window of GPT-2 would be 200 MB of logits. With fewer rows in a pass, packing the
// weights takes a larger part of it.
constexpr std::size_t kLogitsRows = 256;

// With so many rows, reading the weights takes a small part of a pass.
constexpr std::size_t kEnoughRows = 512;

// A task that some passes have read, but not all of it.
struct Reading {
  const ScoreTask* task;
  Session session;
  std::size_t written = 0;  // scores
  std::size_t rows = 0;     // of logits in this pass

  Reading(const Engine& engine, const ScoreTask& t)
      : task(&t), session(engine, {.max_tokens = t.tokens.size() - 1}) {
    if (t.prefix != nullptr) session.assign(*t.prefix);
  }

  [[nodiscard]] std::size_t unwritten() const { return task->scores.size() - written; }

  // The tokens to read in this pass: up to the one before the last that is scored.
  [[nodiscard]] std::span<const TokenId> piece() const {
    const std::size_t end = task->tokens.size() - unwritten() + rows - 1;
    return task->tokens.subspan(session.position(), end - session.position());
  }
};

class TaskReader {
 public:
  // `scores`: how many the tasks have together.
  TaskReader(const Engine& engine, std::span<const ScoreTask> tasks, std::size_t scores,
             std::size_t top)
      : engine_(engine), vocab_size_(engine.model().config().vocab_size), tasks_(tasks), top_(top) {
    logits_.resize(std::min(scores, kLogitsRows) * vocab_size_);
    scratch_.resize(static_cast<std::size_t>(engine_.impl().threads) * vocab_size_);
  }

  // Runs a pass and returns how many scores it wrote: 0 when all are written.
  std::size_t pass() {
    std::erase_if(readings_, [](const Reading& reading) { return reading.unwritten() == 0; });
    const std::size_t rows = choose_rows();
    if (rows == 0) return 0;
    std::vector<Slice> slices;
    const std::span<float> logits(logits_);
    std::size_t row = 0;
    for (Reading& reading : readings_) {
      const auto part = logits.subspan(row * vocab_size_, reading.rows * vocab_size_);
      slices.push_back({&reading.session, reading.piece(), part});
      row += reading.rows;
    }
    engine_.forward(slices);
    write(rows);
    return rows;
  }

 private:
  // Begins tasks, and divides the rows of logits of a pass among those that are begun. Returns how
  // many there are. All readings but the last will be at their ends.
  std::size_t choose_rows() {
    std::size_t logits_rows = 0;
    std::size_t rows = 0;
    const auto take = [&](Reading& reading) {
      reading.rows = std::min(reading.unwritten(), kLogitsRows - logits_rows);
      logits_rows += reading.rows;
      rows += reading.piece().size();
    };
    for (Reading& reading : readings_) take(reading);
    for (; next_ < tasks_.size() && logits_rows < kLogitsRows && rows < kEnoughRows; ++next_) {
      if (!tasks_[next_].scores.empty()) take(readings_.emplace_back(engine_, tasks_[next_]));
    }
    return logits_rows;
  }

  // A row takes about as long as a twentieth of a forward pass over one token of GPT-2 124M, so the
  // Scores the rows of the pass. The threads share them: with two threads, a row of 50,257 logits
  // takes a few percent of the time of the pass for it.
  void write(std::size_t rows) {
    struct Row {
      TokenId token;
      TokenLogprob* score;
    };
    std::vector<Row> all;  // in the order of the logits
    all.reserve(rows);
    for (Reading& reading : readings_) {
      const ScoreTask& task = *reading.task;
      for (std::size_t row = 0; row < reading.rows; ++row) {
        TokenLogprob& score = task.scores[reading.written];
        score.top.resize(top_);
        all.push_back({task.tokens[task.tokens.size() - reading.unwritten()], &score});
        ++reading.written;
      }
    }
    const std::span<const float> logits(logits_);
    engine_.impl().for_each(rows, [&](std::size_t i, int rank) {
      const auto scratch =
          std::span(scratch_).subspan(static_cast<std::size_t>(rank) * vocab_size_, vocab_size_);
      write_logprob(*all[i].score, logits.subspan(i * vocab_size_, vocab_size_), all[i].token,
                    scratch);
    });
  }

  Engine engine_;
  std::size_t vocab_size_;
  std::span<const ScoreTask> tasks_;
  std::size_t next_ = 0;  // of the tasks, the first that is not begun
  std::size_t top_;
  std::vector<Reading> readings_;
  std::vector<float> logits_;   // (up to kLogitsRows, vocab_size)
  std::vector<float> scratch_;  // (threads, vocab_size)
};

}  // namespace

void score_tasks(const Engine& engine, std::span<const ScoreTask> tasks, std::size_t top,
                 const std::function<void(double share)>& progress) {
  const DefaultFloatState state;
  std::size_t total = 0;
  for (const ScoreTask& task : tasks) total += task.scores.size();
  TaskReader reader(engine, tasks, total, top);
  std::size_t written = 0;
  while (const std::size_t more = reader.pass()) {
    written += more;
    if (progress) progress(static_cast<double>(written) / static_cast<double>(total));
  }
}

}  // namespace gpt2
