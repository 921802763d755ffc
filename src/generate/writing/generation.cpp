#include "generate/writing/generation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/fail.h"
#include "base/hash.h"
#include "base/seconds_since.h"
#include "base/text.h"
#include "generate/options/option_codec.h"
#include "generate/sampling/softmax.h"
#include "generate/writing/tokens.h"

namespace gpt2 {
namespace {

// Returns how many tokens the session has to drop before it can read the prompt. Changes nothing.
std::size_t check(const Session& session, std::span<const TokenId> prompt,
                  const GenerationOptions& options, const ContextWindow& window,
                  const std::optional<Tokenizer>& tokenizer) {
  if (prompt.empty() && session.position() == 0) {
    reject("neither the prompt nor the session has a token: begin with the end-of-text token");
  }
  const Config& config = session.model().config();
  check_tokens(prompt, config.vocab_size, "the prompt", tokenizer);
  check_options(options);
  check_top_logprobs(options.top_logprobs.value_or(0), config.vocab_size);
  return window.require_room(prompt.size(), options.max_new_tokens);
}

// Returns the limits after `dropped` tokens have been dropped. A generation without a prompt
// continues the text that the session holds.
SequenceLimits limits_of(const Session& session, std::size_t prompt_tokens, std::size_t dropped,
                         const GenerationOptions& options, const ContextWindow& window,
                         const TextTarget& target) {
  const std::size_t length = session.position() - dropped + prompt_tokens;
  const std::size_t written = prompt_tokens == 0 ? session.history().written : 0;
  return {.eos_token_id = end_tokens(session.model().config(), target.tokenizer, options),
          .prompt_length = length - written,
          .max_length = length + std::min(options.max_new_tokens, window.room_after(length)),
          .dropped = session.dropped() + dropped};
}

// Lets the next pass compute the last token of the session again, for the logits after it.
void recompute_last(Session& session) {
  const TextHistory history = session.history();
  const TokenId last = session.tokens().back();
  session.rewind(session.position() - 1);
  session.append(std::span(&last, 1));
  session.set_history(history);
}

std::vector<TokenId> joined(std::span<const TokenId> first, std::span<const TokenId> second) {
  std::vector<TokenId> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

}  // namespace

std::string_view name_of(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::end_of_text: return "end_of_text";
    case FinishReason::stop_string: return "stop_string";
    case FinishReason::length: return "length";
    case FinishReason::context_full: return "context_full";
    case FinishReason::cancelled: return "cancelled";
  }
  return "";
}

Generation::Generation(Session& session, std::span<const TokenId> prompt,
                       const GenerationOptions& options, const TextTarget& target,
                       const Donor& donor)
    : session_(session),
      options_(options),
      window_(session, options),
      sink_(target, options, joined(session.tokens(), prompt)),
      result_{.finish_reason = {},
              .tokens = {},
              .prompt_tokens = prompt.size(),
              .dropped_tokens = check(session, prompt, options, window_, target.tokenizer)},
      limits_(limits_of(session, prompt.size(), result_.dropped_tokens, options, window_, target)),
      sampler_(options.sampling, session.model().config().vocab_size, limits_),
      drafter_(session, sampler_, options) {
  // The session is changed only now, after all arguments have been checked. The prompt is copied
  // first because it may be a span of the session's tokens, which a slide moves.
  std::vector<TokenId> copy(prompt.begin(), prompt.end());
  if (donor.known > 0) session.assign(*donor.session, donor.known);
  if (result_.dropped_tokens != 0) session.slide(options.keep, prompt.size());
  if (prompt.empty()) recompute_last(session);
  prompt_.emplace(session, std::move(copy), options_.on_prompt, donor.known);
  if (!scores_prompt()) return;
  prompt_scores_.assign(donor.scores.begin(), donor.scores.end());
  if (donor.known == 0) prompt_scores_ = {{std::numeric_limits<float>::quiet_NaN(), 0, {}}};
}

// Whether the next pass is over a part of a prompt whose tokens are scored.
bool Generation::scores_prompt() const {
  return options_.on_prompt_logprobs && prompt_ && !prompt_->tokens().empty();
}

// A pass writes one more token than it accepts, and the last token of a text needs no room in the
// session.
std::size_t Generation::max_draft() const {
  const std::size_t left = options_.max_new_tokens - result_.tokens.size();
  return std::min(left - 1, session_.capacity() - session_.position());
}

std::optional<Slice> Generation::next(std::size_t max_rows) {
  if (is_cancelled_) return std::nullopt;
  if (!prompt_) {
    const auto drafted = drafter_.tokens();
    logits_.resize((1 + drafted.size()) * vocab_size());
    return Slice{&session_, drafted, logits_};
  }
  if (!prompt_->goes_on()) {
    finish(FinishReason::cancelled);
    return std::nullopt;
  }
  constexpr std::size_t kScoredRows = 256;  // of logits, which take 50 MB for GPT-2
  const auto piece = prompt_->next(scores_prompt() ? std::min(max_rows, kScoredRows) : max_rows);
  if (!scores_prompt() && !prompt_->finished()) return Slice{&session_, piece, {}};
  logits_.resize((scores_prompt() ? piece.size() : 1) * vocab_size());
  return Slice{&session_, piece, logits_};
}

// If the sampler throws, take() draws again and then throws the same exception to the caller.
void Generation::draw_ahead() noexcept {
  if (prompt_ && (!prompt_->finished() || scores_prompt())) return;
  if (!options_.sampling.processors.empty()) return;
  const std::size_t position = session_.position() - drafter_.tokens().size();
  try {
    ahead_ =
        sampler_.sample(std::span(logits_).first(vocab_size()), session_.tokens().first(position));
  } catch (const std::exception&) {
  }
}

void Generation::take() {
  if (is_cancelled_) {  // during the pass, whose drafted tokens are not part of the text
    session_.rewind(session_.position() - drafter_.tokens().size());
    return drafter_.note_checked(0);
  }
  if (prompt_ && !begin_text()) return;
  const std::size_t accepted_before = result_.accepted_tokens;
  const std::optional<FinishReason> reason = draw_all();
  result_.drafted_tokens += drafter_.tokens().size();
  drafter_.note_checked(result_.accepted_tokens - accepted_before);
  if (reason) finish(*reason);
}

// Scores the tokens that the rows of the pass predict. Leaves the last row, after which the text
// begins if the prompt has been read.
void Generation::score_prompt() {
  const auto tokens = prompt_->tokens();
  std::span<const float> rows(logits_);
  for (; !rows.empty() && prompt_scores_.size() < tokens.size();
       rows = rows.subspan(vocab_size())) {
    prompt_scores_.push_back(token_logprob(rows.first(vocab_size()), tokens[prompt_scores_.size()],
                                           options_.top_logprobs.value_or(0)));
  }
  logits_ =
      std::vector<float>(logits_.end() - static_cast<std::ptrdiff_t>(vocab_size()), logits_.end());
}

// Called after a pass over a piece of the prompt. Returns whether the first token of the text can
// now be drawn from its logits.
bool Generation::begin_text() {
  if (scores_prompt()) score_prompt();
  if (!prompt_->finished()) return false;
  if (!prompt_->goes_on()) {
    finish(FinishReason::cancelled);
    return false;
  }
  if (scores_prompt()) options_.on_prompt_logprobs(prompt_scores_);
  prompt_.reset();
  drafter_.note_prompt();
  if (!result_.tokens.empty()) return true;  // the text continues after a slide
  result_.prompt_seconds = seconds_since(start_);
  start_ = std::chrono::steady_clock::now();
  if (options_.max_new_tokens == 0) finish(FinishReason::length);
  return !finished_ && !is_cancelled_;
}

// Draws a token from each row of logits until a drafted token differs from the token drawn. Returns
// the reason if the text has ended.
std::optional<FinishReason> Generation::draw_all() {
  const auto drafted = drafter_.tokens();
  const std::size_t first = session_.position() - drafted.size();
  for (std::size_t row = 0;; ++row) {
    const std::size_t position = first + row;
    const bool is_full = position == session_.capacity();
    const auto scores = std::span(logits_).subspan(row * vocab_size(), vocab_size());
    if (options_.hash_logits) result_.logits_hash = hash_floats(scores, result_.logits_hash);
    const TokenId token = draw(scores, position);
    const auto top = options_.top_logprobs;
    if (top) result_.logprobs.push_back(token_logprob(scores, token, *top));
    if (std::ranges::count(limits_.eos_token_id, token) != 0) {
      result_.end_token = token;
      session_.rewind(position);
      return FinishReason::end_of_text;
    }
    result_.tokens.push_back(token);
    const bool is_accepted = row < drafted.size() && drafted[row] == token;
    result_.accepted_tokens += is_accepted;
    const bool is_last = result_.tokens.size() == options_.max_new_tokens;
    const bool goes_on = is_accepted && !is_last;
    if (!goes_on) settle(position, token);
    if (!give(token, position, goes_on)) return FinishReason::cancelled;
    if (is_full && !window_.slides()) return FinishReason::context_full;
    if (is_last) return FinishReason::length;
    if (!is_accepted) return std::nullopt;
  }
}

// Draws the token at `position`. If that fails, removes the drafted tokens from the session.
TokenId Generation::draw(std::span<const float> logits, std::size_t position) {
  if (ahead_) return *std::exchange(ahead_, std::nullopt);
  try {
    return sampler_.sample(logits, session_.tokens().first(position));
  } catch (...) {
    session_.rewind(position);
    throw;
  }
}

// Gives the token to the sink. If the sink ends the text, removes the tokens drafted after this
// one, if there are any.
bool Generation::give(TokenId token, std::size_t position, bool is_drafted) {
  bool goes_on = false;
  try {
    goes_on = !is_cancelled_ &&
              sink_.write(token, options_.top_logprobs ? &result_.logprobs.back() : nullptr) &&
              !is_cancelled_;
  } catch (...) {
    if (is_drafted) settle(position, token);
    throw;
  }
  if (!goes_on && is_drafted) settle(position, token);
  return goes_on;
}

// Makes `last` the token at `position`, where it waits, and removes the tokens after it. A full
// session slides for it, or has no room for it.
void Generation::settle(std::size_t position, TokenId last) {
  session_.rewind(position);
  if (position < session_.capacity()) {
    session_.append(std::span(&last, 1));
  } else if (window_.slides()) {
    slide(last);
  }
}

// The keys and values of the tokens that are kept must be computed again; a PromptReader reads
// these tokens like a prompt.
void Generation::slide(TokenId last) {
  result_.dropped_tokens += window_.slide(1, limits_);
  session_.append(std::span(&last, 1));
  sampler_ = Sampler(options_.sampling, vocab_size(), limits_);
  static const PromptReader::OnPrompt kNobody;
  prompt_.emplace(session_, std::vector<TokenId>(), kNobody);
}

// Tells the session how many of its tokens are new, for the options that count them in the next
// call.
void Generation::note_written() {
  const std::size_t length = session_.position();
  const std::size_t written = length - std::min(length, limits_.prompt_length);
  session_.set_history({.dropped = session_.dropped(), .written = written});
}

void Generation::finish(FinishReason reason) {
  result_.finish_reason = reason;
  (has_begun() ? result_.generation_seconds : result_.prompt_seconds) = seconds_since(start_);
  if (has_begun()) note_written();
  finished_ = true;
  if (!is_cancelled_) sink_.finish(result_);
}

bool Generation::end_if_cancelled() noexcept {
  if (finished_ || !is_cancelled_) return finished_;
  try {
    if (!has_begun()) prompt_->take_back();
    finish(FinishReason::cancelled);
  } catch (...) {  // no memory
    fail();
  }
  return true;
}

void Generation::fail() noexcept {
  error_ = std::current_exception();
  finished_ = true;
  try {
    if (has_begun()) note_written();
  } catch (const Error&) {
    // A sink has moved the session away, although it must not use it.
  }
}

GenerationResult Generation::take_result() {
  if (error_) std::rethrow_exception(error_);
  return std::move(result_);
}

}  // namespace gpt2
