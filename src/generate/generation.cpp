#include "generate/generation.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

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
  check_top_logprobs(options.top_logprobs.value_or(0), session.model().config().vocab_size);
  const std::size_t room = session.capacity() - session.position();
  const bool can_fill = prompt.size() > room || options.max_new_tokens > room - prompt.size();
  const std::size_t capacity = session.capacity();
  if (slides(options) && can_fill && (capacity < 2 || options.keep > capacity - 2)) {
    reject("a session that slides needs room for two tokens more than it keeps: it has room for ",
           capacity, ", and is to keep ", options.keep);
  }
}

// Makes the session ready for the prompt. Returns how many tokens it has dropped.
std::size_t prepare(Session& session, std::span<const TokenId> prompt,
                    const GenerationOptions& options) {
  check(session, prompt, options);
  const std::size_t dropped = slides(options) ? session.slide(options.keep, prompt.size()) : 0;
  session.impl()->require_fitting(prompt);
  // A text without a prompt begins with the logits after the last token.
  if (prompt.empty()) session.impl()->keep_computed(session.position() - 1);
  return dropped;
}

// A text without a prompt goes on with the one that the session has.
SequenceLimits limits_of(const Session& session, std::size_t prompt_tokens,
                         const GenerationOptions& options) {
  const std::size_t length = session.position() + prompt_tokens;
  const std::size_t written = prompt_tokens == 0 ? session.impl()->written : 0;
  // The last token of a text that fills the context has no room in it.
  const std::size_t room = slides(options) ? SIZE_MAX : session.capacity() + 1 - length;
  return {.eos_token_id = end_tokens(session.model().config(), options),
          .prompt_length = length - written,
          .max_length = length + std::min(options.max_new_tokens, room),
          .dropped = session.dropped()};
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
              .dropped_tokens = prepare(session, prompt.subspan(known), options)},
      limits_(limits_of(session, prompt.size() - known, options)),
      sampler_(options.sampling, session.model().config().vocab_size, limits_),
      prompt_(std::in_place, session, prompt, options.on_prompt, known),
      decoder_(session, sampler_, options, sink_, result_) {}

std::optional<Slice> Generation::next(std::size_t max_rows, bool may_draft) {
  if (!reads_prompt_) return decoder_.next(may_draft);
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
  const bool is_full = *reason == FinishReason::context_full;
  const bool is_last = result_.tokens.size() == options_.max_new_tokens;
  if (is_full && slides(options_)) {
    slide();
    if (is_last) finish(FinishReason::length);
  } else {
    finish(*reason);
  }
}

// After a pass over a piece of the prompt: returns whether the text begins, from its logits.
bool Generation::begin_text() {
  if (!prompt_->finished()) return false;
  if (!prompt_->goes_on()) {
    finish(FinishReason::cancelled);
    return false;
  }
  reads_prompt_ = false;
  if (!result_.tokens.empty()) return true;  // the text goes on after a slide
  result_.prompt_seconds = seconds_since(start_);
  start_ = std::chrono::steady_clock::now();
  if (options_.max_new_tokens == 0) finish(FinishReason::length);
  return !finished_;
}

// Makes room in a full session for the token that was just written. The keys and values of the
// tokens that are kept must be computed anew, as those of a prompt are.
void Generation::slide() {
  const std::size_t dropped = session_.slide(options_.keep, 1);
  session_.append(std::span(&result_.tokens.back(), 1));
  result_.dropped_tokens += dropped;
  limits_.dropped += dropped;
  limits_.max_length -= dropped;
  limits_.prompt_length -= std::min(limits_.prompt_length, dropped);
  sampler_ = Sampler(options_.sampling, session_.model().config().vocab_size, limits_);

  static const PromptReader::OnPrompt kNobody;
  prompt_.emplace(session_, std::span<const TokenId>(), kNobody);
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
