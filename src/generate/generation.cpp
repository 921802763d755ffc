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
  if (prompt.empty() && session.waiting() == 0) {
    reject("the prompt has no tokens and no token waits in the session: ",
           session.position() < session.capacity() ? "begin with the end-of-text token"
                                                   : "the session is full");
  }
  session.impl()->require_fitting(prompt);
  check_top_logprobs(options.top_logprobs.value_or(0), session.model().config().vocab_size);
  const std::size_t room = session.capacity();
  const bool can_fill = options.max_new_tokens > room - session.position() - prompt.size();
  if (slides(options) && can_fill && (room < 2 || options.keep > room - 2)) {
    reject("a session that slides needs room for two tokens more than it keeps: it has room for ",
           room, ", and keep is ", options.keep);
  }
}

SequenceLimits limits_of(const Session& session, std::size_t prompt_tokens,
                         const GenerationOptions& options) {
  SequenceLimits limits{.eos_token_id = end_tokens(session.model().config(), options),
                        .prompt_length = session.position() + prompt_tokens};
  // The last token of a text that fills the context has no room in it.
  const std::size_t room =
      slides(options) ? SIZE_MAX : session.capacity() + 1 - limits.prompt_length;
  limits.max_length = limits.prompt_length + std::min(options.max_new_tokens, room);
  return limits;
}

SequenceLimits checked_limits(const Session& session, std::span<const TokenId> prompt,
                              const GenerationOptions& options) {
  check(session, prompt, options);
  return limits_of(session, prompt.size(), options);
}

}  // namespace

Generation::Generation(Session& session, std::span<const TokenId> prompt,
                       const GenerationOptions& options, std::function<bool(TokenId)> sink,
                       std::size_t known)
    : session_(session),
      options_(options),
      sink_(std::move(sink)),
      limits_(checked_limits(session, prompt.subspan(known), options)),
      sampler_(options.sampling, session.model().config().vocab_size, limits_),
      result_{.finish_reason = {}, .tokens = {}, .prompt_tokens = prompt.size()},
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

// Makes room in a full session: keeps its first tokens and the last half of the others, to which
// the token that was just written belongs. Positions are a part of what a token's keys and values
// are computed from, so that all must be computed anew.
void Generation::slide() {
  const auto tokens = session_.tokens();
  const std::size_t tail = std::max<std::size_t>((tokens.size() - options_.keep) / 2, 1);
  std::vector<TokenId> window(tokens.begin(), tokens.begin() + std::ptrdiff_t(options_.keep));
  window.insert(window.end(), tokens.end() - std::ptrdiff_t(tail - 1), tokens.end());
  window.push_back(result_.tokens.back());

  const std::size_t dropped = tokens.size() + 1 - window.size();
  result_.dropped_tokens += dropped;
  limits_.dropped += dropped;
  limits_.max_length -= dropped;
  limits_.prompt_length -= std::min(limits_.prompt_length, dropped);
  sampler_ = Sampler(options_.sampling, session_.model().config().vocab_size, limits_);

  static const PromptReader::OnPrompt kNobody;
  session_.rewind(0);
  session_.append(window);
  prompt_.emplace(session_, std::span<const TokenId>(), kNobody);
  reads_prompt_ = true;
}

void Generation::finish(FinishReason reason) {
  result_.finish_reason = reason;
  const bool in_prompt = reads_prompt_ && result_.tokens.empty();
  (in_prompt ? result_.prompt_seconds : result_.generation_seconds) = seconds_since(start_);
  finished_ = true;
}

}  // namespace gpt2
