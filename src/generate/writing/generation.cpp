#include "generate/writing/generation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/fail.h"
#include "base/hash.h"
#include "base/seconds_since.h"
#include "base/text.h"
#include "generate/options/check_numbers.h"
#include "generate/sampling/logprobs.h"
#include "generate/writing/end_tokens.h"
#include "model/session_impl.h"

namespace gpt2 {
namespace {

bool slides(const GenerationOptions& options) { return options.overflow == Overflow::slide; }

void check(const Session& session, std::span<const TokenId> prompt,
           const GenerationOptions& options) {
  if (prompt.empty() && session.position() == 0) {
    reject("neither the prompt nor the session has a token: begin with the end-of-text token");
  }
  session.impl()->require_known(prompt);
  for_each_generation_field(
      [&](const auto& field) { check_numbers(field.name, field.range, options.*field.member); });
  check_enumerator(options.overflow, Overflow::slide, "overflow", "Overflow");
  check_top_logprobs(options.top_logprobs.value_or(0), session.model().config().vocab_size);
  const std::size_t room = session.capacity() - session.position();
  const bool can_fill = prompt.size() > room || options.max_new_tokens > room - prompt.size();
  const std::size_t capacity = session.capacity();
  if (slides(options) && can_fill && (capacity < 2 || options.keep > capacity - 2)) {
    reject("a session that slides needs room for two tokens more than it keeps: it has room for ",
           capacity, ", and keep is ", options.keep);
  }
}

// Throws if the session has no room for the prompt, not even after a slide.
void require_room(const Session& session, std::size_t prompt_tokens,
                  const GenerationOptions& options) {
  const std::size_t capacity = session.capacity();
  const std::size_t position = session.position();
  const std::size_t kept = slides(options) ? std::min(options.keep, position) : position;
  if (prompt_tokens <= capacity - kept) return;
  const std::string before = kept == 0
                                 ? ""
                                 : concat(", after the ", counted(kept, "token"),
                                          slides(options) ? " that it keeps" : " that it holds");
  reject("the prompt has ", counted(prompt_tokens, "token"), ", but the session has room for ",
         capacity - kept, before, ": shorten the prompt, for example by leaving out its beginning");
}

// Returns how many tokens the session has to drop before it can read the prompt. Changes nothing.
std::size_t drop_for(const Session& session, std::span<const TokenId> prompt,
                     const GenerationOptions& options) {
  check(session, prompt, options);
  require_room(session, prompt.size(), options);
  if (slides(options)) return session.impl()->slide_size(options.keep, prompt.size());
  session.impl()->require_fitting(prompt);
  return 0;
}

// Returns the limits after `dropped` tokens have been dropped. A generation without a prompt
// continues the text that the session holds.
SequenceLimits limits_of(const Session& session, std::size_t prompt_tokens, std::size_t dropped,
                         const GenerationOptions& options, const TextTarget& target) {
  const std::size_t length = session.position() - dropped + prompt_tokens;
  const std::size_t written = prompt_tokens == 0 ? session.impl()->written : 0;
  // The last token of a text that fills the context has no room in it.
  const std::size_t room = slides(options) ? SIZE_MAX : session.capacity() + 1 - length;
  return {.eos_token_id = end_tokens(session.model().config(), target.tokenizer, options),
          .prompt_length = length - written,
          .max_length = length + std::min(options.max_new_tokens, room),
          .dropped = session.dropped() + dropped};
}

}  // namespace

Generation::Generation(Session& session, std::span<const TokenId> prompt,
                       const GenerationOptions& options, const TextTarget& target,
                       const Donor& donor)
    : session_(session),
      options_(options),
      sink_(target, options.stop),
      result_{.finish_reason = {},
              .tokens = {},
              .prompt_tokens = prompt.size(),
              .dropped_tokens = drop_for(session, prompt, options)},
      limits_(limits_of(session, prompt.size(), result_.dropped_tokens, options, target)),
      sampler_(options.sampling, session.model().config().vocab_size, limits_),
      drafter_(session, options) {
  // The session is changed only now, after all arguments have been checked. The prompt is copied
  // first because it may be a span of the session's tokens, which a slide moves.
  std::vector<TokenId> copy(prompt.begin(), prompt.end());
  if (donor.known > 0) session.assign(*donor.session, donor.known);
  if (result_.dropped_tokens != 0) session.slide(options.keep, prompt.size());
  // A text without a prompt begins with the logits after the last token.
  if (prompt.empty()) session.impl()->keep_computed(session.position() - 1);
  prompt_.emplace(session, std::move(copy), options_.on_prompt, donor.known);
}

// A pass writes one more token than it accepts, and the last token of a text needs no room in the
// session.
void Generation::look_up_draft() {
  const std::size_t left = options_.max_new_tokens - result_.tokens.size();
  drafter_.look_up(std::min(left - 1, session_.capacity() - session_.position()));
}

std::optional<Slice> Generation::next(std::size_t max_rows) {
  if (!reads_prompt_) {
    const auto drafted = drafter_.tokens();
    logits_.resize((1 + drafted.size()) * vocab_size());
    return Slice{&session_, drafted, logits_};
  }
  if (!prompt_->goes_on()) {
    finish(FinishReason::cancelled);
    return std::nullopt;
  }
  const auto piece = prompt_->next(max_rows);
  if (!prompt_->finished()) return Slice{&session_, piece, {}};
  logits_.resize(vocab_size());
  return Slice{&session_, piece, logits_};
}

// If the sampler throws, take() draws again and then throws the same exception to the caller.
void Generation::draw_ahead() noexcept {
  if (reads_prompt_ && !prompt_->finished()) return;
  if (!options_.sampling.processors.empty()) return;
  const std::size_t position = session_.position() - drafter_.tokens().size();
  try {
    ahead_ =
        sampler_.sample(std::span(logits_).first(vocab_size()), session_.tokens().first(position));
  } catch (const std::exception&) {
  }
}

void Generation::take() {
  if (reads_prompt_ && !begin_text()) return;
  const std::size_t accepted_before = result_.accepted_tokens;
  const std::optional<FinishReason> reason = draw_all();
  result_.drafted_tokens += drafter_.tokens().size();
  drafter_.note_checked(result_.accepted_tokens - accepted_before);
  if (!reason) return;
  // With Overflow::slide, the session holds all tokens of the text, however it ends, so it slides
  // even for the last token.
  const bool goes_on = slides(options_) && *reason == FinishReason::context_full;
  if (slides(options_) && lacks_room_) slide();
  const bool is_last = result_.tokens.size() == options_.max_new_tokens;
  if (!goes_on || is_last) finish(goes_on ? FinishReason::length : *reason);
}

// Called after a pass over a piece of the prompt. Returns whether the first token of the text can
// now be drawn from its logits.
bool Generation::begin_text() {
  if (!prompt_->finished()) return false;
  if (!prompt_->goes_on()) {
    finish(FinishReason::cancelled);
    return false;
  }
  reads_prompt_ = false;
  drafter_.note_prompt();
  if (!result_.tokens.empty()) return true;  // the text continues after a slide
  result_.prompt_seconds = seconds_since(start_);
  start_ = std::chrono::steady_clock::now();
  if (options_.max_new_tokens == 0) finish(FinishReason::length);
  return !finished_;
}

// Draws a token from each row of logits until a drafted token differs from the token drawn. Returns
// the reason if the text has ended.
std::optional<FinishReason> Generation::draw_all() {
  const auto drafted = drafter_.tokens();
  const std::size_t first = session_.position() - drafted.size();
  for (std::size_t row = 0;; ++row) {
    const std::size_t position = first + row;
    const auto scores = std::span(logits_).subspan(row * vocab_size(), vocab_size());
    if (options_.hash_logits) result_.logits_hash = hash_floats(scores, result_.logits_hash);
    const TokenId token = draw(scores, position);
    lacks_room_ = false;
    if (std::ranges::count(limits_.eos_token_id, token) != 0) {
      session_.rewind(position);
      return FinishReason::end_of_text;
    }
    result_.tokens.push_back(token);
    const auto top = options_.top_logprobs;
    if (top) result_.logprobs.push_back(token_logprob(scores, token, *top));
    const bool is_accepted = row < drafted.size() && drafted[row] == token;
    result_.accepted_tokens += is_accepted;
    const bool is_last = result_.tokens.size() == options_.max_new_tokens;
    lacks_room_ = position == session_.capacity();
    if (!is_accepted || is_last) settle(position, token);
    if (!give(token, position)) return FinishReason::cancelled;
    if (lacks_room_) return FinishReason::context_full;
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
// one.
bool Generation::give(TokenId token, std::size_t position) {
  try {
    if (sink_.write(token, options_.top_logprobs ? &result_.logprobs.back() : nullptr)) return true;
  } catch (...) {
    settle(position, token);
    if (slides(options_) && lacks_room_) slide();
    throw;
  }
  settle(position, token);
  return false;
}

// Makes `last` the token at `position`, where it waits, and removes the tokens after it. If the
// session is full, it has no room for the last token.
void Generation::settle(std::size_t position, TokenId last) {
  session_.rewind(position);
  if (position < session_.capacity()) session_.append(std::span(&last, 1));
}

// Makes room in a full session for the token that was just written. The keys and values of the
// tokens that are kept must be recomputed; a PromptReader reads these tokens like a prompt.
void Generation::slide() {
  session_.impl()->written = session_.position() - limits_.prompt_length;
  const std::size_t dropped = session_.slide(options_.keep, 1);
  limits_.prompt_length = session_.position() - session_.impl()->written;
  session_.append(std::span(&result_.tokens.back(), 1));
  result_.dropped_tokens += dropped;
  limits_.dropped += dropped;
  limits_.max_length -= dropped;
  sampler_ = Sampler(options_.sampling, vocab_size(), limits_);

  static const PromptReader::OnPrompt kNobody;
  prompt_.emplace(session_, std::vector<TokenId>(), kNobody);
  reads_prompt_ = true;
}

// Tells the session how many of its tokens are new, for the options that count them in the next
// call.
void Generation::note_written() {
  const std::size_t length = session_.position();
  session_.impl()->written = length - std::min(length, limits_.prompt_length);
}

void Generation::finish(FinishReason reason) {
  result_.finish_reason = reason;
  (has_begun() ? result_.generation_seconds : result_.prompt_seconds) = seconds_since(start_);
  if (has_begun()) note_written();
  finished_ = true;
  sink_.finish(result_);
}

void Generation::cancel() noexcept {
  if (finished_) return;
  try {
    if (reads_prompt_) static_cast<void>(prompt_->goes_on());  // removes the prompt
    finish(FinishReason::cancelled);
  } catch (...) {
    fail();
  }
}

void Generation::fail() noexcept {
  error_ = std::current_exception();
  // A sink may have moved the session away, although it must not use it.
  if (has_begun() && session_.impl() != nullptr) note_written();
  finished_ = true;
}

GenerationResult Generation::take_result() {
  if (error_) std::rethrow_exception(error_);
  return std::move(result_);
}

}  // namespace gpt2
