#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "base/set_while_alive.h"
#include "base/system/threads.h"
#include "generate/score/score_summary.h"
#include "generate/score/scored_window.h"
#include "generate/writing/tokens.h"
#include "gpt2/score.h"

namespace gpt2 {
namespace {

// Windows are scored once they have this many tokens to score, so that short ones share passes.
constexpr std::size_t kGroup = 4096;

}  // namespace

struct TextScorer::Impl {
  Engine engine;
  ScoreOptions options;
  std::optional<Tokenizer> tokenizer;
  Take take;

  std::vector<TokenId> text = {};  // the tokens from the beginning of the next window on
  std::size_t reached = 0;         // the index in `text` of the end of the previous window
  std::size_t scored = 0;          // the number of tokens before it in the whole text
  bool after_space = true;         // as units_of() needs it
  bool is_finished = false;
  bool is_scoring = false;
  ScoreSummary summary = {};

  // Returns the next windows that are complete, by their indices in `text`, until they score kGroup
  // tokens. At the end of the text, the last window may be shorter.
  [[nodiscard]] std::vector<ScoredWindow> next_windows() const {
    std::vector<ScoredWindow> windows;
    for (std::size_t begin = 0, from = reached; from < text.size() && from < reached + kGroup;
         begin += options.stride) {
      if (text.size() < begin + options.context && !is_finished) break;
      windows.push_back(window_at(begin, from, text.size(), options.context));
      from = windows.back().end;
    }
    return windows;
  }

  void score(std::vector<ScoredWindow> windows) {
    std::vector<TokenLogprob> scores(windows.back().end, kUnscored);
    std::vector<ScoreTask> tasks;
    add_tasks(tasks, windows, text, scores);
    score_tasks(engine, tasks, options.top_logprobs, options.progress);
    set_nll(windows, scores);

    const auto tokens = std::span<const TokenId>(text).subspan(reached, scores.size() - reached);
    if (take) take(tokens, std::span(scores).subspan(reached));
    std::vector<ScoredUnits> units;
    if (tokenizer) units = units_of(tokens, *tokenizer, after_space);
    for (const ScoredWindow& window : windows) {
      const std::size_t count = tokenizer ? window.end - window.first : 0;
      const std::size_t first = tokenizer ? window.first - reached : 0;
      summary.add(window, std::span(units).subspan(first, count));
    }
    scored += tokens.size();
    const std::size_t next = std::min(windows.back().begin + options.stride, scores.size());
    text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(next));
    reached = scores.size() - next;
  }

  void require_not_scoring() const {
    if (is_scoring) reject("'take' and 'progress' cannot use the TextScorer that calls them");
  }

  // Scores windows while there are kGroup tokens to score, or at the end of the text, any.
  void score_windows() {
    const SetWhileAlive scoring_now(is_scoring);
    for (;;) {
      std::vector<ScoredWindow> windows = next_windows();
      if (windows.empty() || (windows.back().end < reached + kGroup && !is_finished)) return;
      score(std::move(windows));
    }
  }
};

TextScorer::TextScorer(const Engine& engine, const ScoreOptions& options,
                       std::optional<Tokenizer> tokenizer, Take take)
    : impl_(new Impl{engine, options.resolved(engine.model().config()), std::move(tokenizer),
                     std::move(take)}) {}

TextScorer::~TextScorer() = default;

void TextScorer::append(std::span<const TokenId> tokens) {
  const DefaultFloatState state;
  impl_->require_not_scoring();
  if (impl_->is_finished) reject("the text is finished: score further tokens as another text");
  check_tokens(tokens, impl_->engine.model().config(), "the text");
  impl_->text.insert(impl_->text.end(), tokens.begin(), tokens.end());
  impl_->score_windows();
}

void TextScorer::finish() {
  const DefaultFloatState state;
  impl_->require_not_scoring();
  impl_->is_finished = true;
  impl_->score_windows();
}

std::size_t TextScorer::scored_tokens() const noexcept { return impl_->scored; }

Perplexity TextScorer::perplexity() const {
  const DefaultFloatState state;
  return impl_->summary.perplexity();
}

}  // namespace gpt2
