#include "generate/generation.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check_enumerator.h"
#include "base/fail.h"
#include "base/seconds_since.h"
#include "generate/end_tokens.h"
#include "generate/logprobs.h"
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

// Returns how many tokens the session has to drop before it can read the prompt. Changes nothing.
std::size_t drop_for(const Session& session, std::span<const TokenId> prompt,
                     const GenerationOptions& options) {
  check(session, prompt, options);
  if (slides(options)) return session.impl()->slide_size(options.keep, prompt.size());
  session.impl()->require_fitting(prompt);
  return 0;
}

// Returns the limits after `dropped` tokens have been dropped. A generation without a prompt
// continues the text that the session holds.
SequenceLimits limits_of(const Session& session, std::size_t prompt_tokens, std::size_t dropped,
                         const GenerationOptions& options) {
  const std::size_t length = session.position() - dropped + prompt_tokens;
  const std::size_t written = prompt_tokens == 0 ? session.impl()->written : 0;
  // The last token of a text that fills the context has no room in it.
  const std::size_t room = slides(options) ? SIZE_MAX : session.capacity() + 1 - length;
  return {.eos_token_id = end_tokens(session.model().config(), options),
          .prompt_length = length - written,
          .max_length = length + std::min(options.max_new_tokens, room),
          .dropped = session.dropped() + dropped};
}

}  // namespace

Generation::Generation(Session& session, std::span<const TokenId> prompt,
                       const GenerationOptions& options, std::function<bool(TokenId)> sink,
                       std::size_t known)
    : session_(session),
      options_(options),
      sink_(std::move(sink)),
      result_{.finish_reason = {},
              .tokens = {},
              .prompt_tokens = prompt.size(),
              .dropped_tokens = drop_for(session, prompt.subspan(known), options)},
      limits_(limits_of(session, prompt.size() - known, result_.dropped_tokens, options)),
      sampler_(options.sampling, session.model().config().vocab_size, limits_),
      decoder_(session, sampler_, options, sink_, result_) {
  // The session is changed only now, after all arguments have been checked. The prompt is copied
  // first because it may be a span of the session's tokens, which a slide moves.
  std::vector<TokenId> copy(prompt.begin(), prompt.end());
  if (result_.dropped_tokens != 0) session.slide(options.keep, prompt.size() - known);
  // A text without a prompt begins with the logits after the last token.
  if (prompt.size() == known) session.impl()->keep_computed(session.position() - 1);
  prompt_.emplace(session, std::move(copy), options.on_prompt, known);
}

std::optional<Slice> Generation::next(std::size_t max_rows) {
  if (!reads_prompt_) return decoder_.next();
  if (!prompt_->goes_on()) {
    finish(FinishReason::cancelled);
    return std::nullopt;
  }
  const auto piece = prompt_->next(max_rows);
  return Slice{&session_, piece,
               prompt_->finished() ? decoder_.prompt_logits() : std::span<float>()};
}

void Generation::take() {
  if (reads_prompt_ && !begin_text()) return;
  const std::optional<FinishReason> reason = decoder_.take();
  if (!reason) return;
  // With Overflow::slide, the session holds all tokens of the text, however it ends, so it slides
  // even for the last token.
  const bool goes_on = slides(options_) && *reason == FinishReason::context_full;
  if (slides(options_) && decoder_.lacks_room()) slide();
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
  if (!result_.tokens.empty()) return true;  // the text continues after a slide
  result_.prompt_seconds = seconds_since(start_);
  start_ = std::chrono::steady_clock::now();
  if (options_.max_new_tokens == 0) finish(FinishReason::length);
  return !finished_;
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
  sampler_ = Sampler(options_.sampling, session_.model().config().vocab_size, limits_);

  static const PromptReader::OnPrompt kNobody;
  prompt_.emplace(session_, std::vector<TokenId>(), kNobody);
  reads_prompt_ = true;
}

void Generation::finish(FinishReason reason) {
  result_.finish_reason = reason;
  const bool in_prompt = reads_prompt_ && result_.tokens.empty();
  (in_prompt ? result_.prompt_seconds : result_.generation_seconds) = seconds_since(start_);
  const std::size_t length = session_.position();
  if (!in_prompt) session_.impl()->written = length - std::min(length, limits_.prompt_length);
  finished_ = true;
}

}  // namespace gpt2
