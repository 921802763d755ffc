#include <algorithm>
#include <cmath>
#include <vector>

#include "base/fail.h"
#include "base/system/threads.h"
#include "generate/sampling/logprobs.h"
#include "generate/score/scored_window.h"
#include "generate/score/window_scores.h"
#include "generate/writing/tokens.h"
#include "gpt2/score.h"
#include "gpt2/session.h"

namespace gpt2 {
namespace {

// The number of rows of logits that are held at a time. All rows of a window would take more than a
// hundred megabytes.
constexpr std::size_t kRows = 32;

void check(const Model& a, const Model& b, std::span<const TokenId> tokens) {
  const std::size_t vocab_size = a.config().vocab_size;
  const std::size_t n_positions = std::min(a.config().n_positions, b.config().n_positions);
  if (b.config().vocab_size != vocab_size) {
    reject("comparing perplexity takes models of one vocabulary, got ", vocab_size, " and ",
           b.config().vocab_size, " ids");
  }
  if (n_positions < 2) {
    reject("comparing perplexity takes models of two positions or more, got ", n_positions);
  }
  if (tokens.size() < 2) {
    reject("comparing perplexity takes a text of two tokens or more, got ", tokens.size());
  }
  check_tokens(tokens, a.config(), "the text");
}

// Runs both models on the same text.
class Pair {
 public:
  Pair(const Engine& a, const Engine& b)
      : vocab_size_(a.model().config().vocab_size), sessions_{Session(a), Session(b)} {
    for (auto& logits : logits_) logits.resize(kRows * vocab_size_);
  }

  // Scores the tokens of the window from index `first` on, each given all tokens of the window
  // before it. REQUIRES: first >= 1.
  WindowScore score(std::span<const TokenId> window, std::size_t first) {
    for (Session& session : sessions_) session.rewind(0);
    if (first > 1) forward_both(window.first(first - 1), 0);
    WindowScore score;
    for (std::size_t i = first; i < window.size(); i += kRows) {
      const std::size_t rows = std::min(kRows, window.size() - i);
      forward_both(window.subspan(i - 1, rows), rows);
      note_changes(rows);
      for (std::size_t m = 0; m < 2; ++m) {
        for (std::size_t row = 0; row < rows; ++row) {
          const std::span logits = std::span(logits_[m]).subspan(row * vocab_size_, vocab_size_);
          const float logit = logits[static_cast<std::size_t>(window[i + row])];
          score.nll[m] += log_sum_exp(logits) - static_cast<double>(logit);
        }
      }
      score.tokens += rows;
    }
    return score;
  }

  [[nodiscard]] double max_logit_change() const { return max_logit_change_; }

 private:
  // Appends the tokens to both sessions and writes the logits of the last `rows` tokens to logits_.
  void forward_both(std::span<const TokenId> tokens, std::size_t rows) {
    for (std::size_t m = 0; m < 2; ++m) {
      const Slice slice{&sessions_[m], tokens, std::span(logits_[m]).first(rows * vocab_size_)};
      forward(std::span(&slice, 1));
    }
  }

  void note_changes(std::size_t rows) {
    for (std::size_t i = 0; i < rows * vocab_size_; ++i) {
      const double change = std::abs(static_cast<double>(logits_[0][i]) - logits_[1][i]);
      max_logit_change_ = std::max(max_logit_change_, change);
    }
  }

  std::size_t vocab_size_;
  Session sessions_[2];
  std::vector<float> logits_[2];  // (kRows, vocab_size)
  double max_logit_change_ = 0.0;
};

}  // namespace

PerplexityComparison compare_perplexity(const Model& a, const Model& b,
                                        std::span<const TokenId> tokens,
                                        const std::function<void(double share)>& progress) {
  return compare_perplexity(Engine::shared(a), Engine::shared(b), tokens, progress);
}

PerplexityComparison compare_perplexity(const Engine& a, const Engine& b,
                                        std::span<const TokenId> tokens,
                                        const std::function<void(double share)>& progress) {
  const DefaultFloatState state;
  check(a.model(), b.model(), tokens);
  const std::size_t length =
      std::min({a.model().config().n_positions, b.model().config().n_positions, tokens.size()});
  Pair pair(a, b);
  std::vector<WindowScore> windows;
  for (const ScoredWindow& window : windows_of(tokens.size(), length, length / 2)) {
    const auto text = tokens.subspan(window.begin, window.end - window.begin);
    windows.push_back(pair.score(text, window.first - window.begin));
    if (progress) progress(static_cast<double>(window.end) / static_cast<double>(tokens.size()));
  }
  PerplexityComparison result = summarize(windows);
  result.max_logit_change = pair.max_logit_change();
  return result;
}

}  // namespace gpt2
