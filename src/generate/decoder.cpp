#include "generate/decoder.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/fail.h"
#include "base/hash.h"
#include "generate/logprobs.h"
#include "generate/prompt_lookup.h"

namespace gpt2 {

Decoder::Decoder(Session& session, Sampler& sampler, const GenerationOptions& options,
                 const std::function<bool(TokenId)>& sink, GenerationResult& result)
    : session_(session),
      sampler_(sampler),
      options_(options),
      sink_(sink),
      result_(result),
      pending_draft_(options.pending_draft) {
  if (options.max_draft_tokens < 1 || options.max_draft_tokens > GenerationOptions::kMaxDraft) {
    reject("max_draft_tokens must be from 1 to ", GenerationOptions::kMaxDraft, ", got ",
           options.max_draft_tokens);
  }
  if (options.draft && options.pending_draft.valid()) {
    reject("draft and pending_draft are both set: give one of them");
  }
  if (options.draft) draft_.emplace(*options.draft, session);
}

std::span<float> Decoder::prompt_logits() {
  has_new_prompt_ = true;
  logits_.resize(session_.model().config().vocab_size);
  return logits_;
}

Slice Decoder::next() {
  logits_.resize((1 + drafted_.size()) * session_.model().config().vocab_size);
  return {&session_, drafted_, logits_};
}

// If the sampler throws, take() draws again and then throws the same exception to the caller.
void Decoder::draw_ahead() noexcept {
  if (!options_.sampling.processors.empty()) return;
  const std::size_t position = session_.position() - drafted_.size();
  const std::size_t vocab_size = session_.model().config().vocab_size;
  try {
    ahead_ =
        sampler_.sample(std::span(logits_).first(vocab_size), session_.tokens().first(position));
  } catch (const std::exception&) {
  }
}

std::optional<FinishReason> Decoder::take() {
  const std::size_t accepted_before = result_.accepted_tokens;
  const std::optional<FinishReason> finished = draw_all();
  latest_.tokens = drafted_.size();
  latest_.accepted = result_.accepted_tokens - accepted_before;
  result_.drafted_tokens += drafted_.size();
  drafted_.clear();
  return finished;
}

// Draws a token from each row of logits until a drafted token differs from the token drawn.
std::optional<FinishReason> Decoder::draw_all() {
  const std::size_t vocab_size = session_.model().config().vocab_size;
  const std::size_t first = session_.position() - drafted_.size();
  for (std::size_t row = 0;; ++row) {
    const std::size_t position = first + row;
    const auto scores = std::span(logits_).subspan(row * vocab_size, vocab_size);
    if (options_.hash_logits) result_.logits_hash = hash_floats(scores, result_.logits_hash);
    const TokenId token = draw(scores, position);
    lacks_room_ = false;
    if (ends_text(token)) {
      session_.rewind(position);
      return FinishReason::end_of_text;
    }
    result_.tokens.push_back(token);
    const auto top = options_.top_logprobs;
    if (top) result_.logprobs.push_back(token_logprob(scores, token, *top));
    const bool is_accepted = row < drafted_.size() && drafted_[row] == token;
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
TokenId Decoder::draw(std::span<const float> logits, std::size_t position) {
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
bool Decoder::give(TokenId token, std::size_t position) {
  if (!sink_) return true;
  try {
    if (sink_(token)) return true;
  } catch (...) {
    settle(position, token);
    throw;
  }
  settle(position, token);
  return false;
}

// Makes `last` the token at `position`, where it waits, and removes the tokens after it. If the
// session is full, it has no room for the last token.
void Decoder::settle(std::size_t position, TokenId last) {
  session_.rewind(position);
  if (position < session_.capacity()) session_.append(std::span(&last, 1));
}

// Starts to use the pending draft model if it is ready.
void Decoder::take_pending_draft() {
  if (!pending_draft_.valid()) return;
  if (pending_draft_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return;
  const auto ready = std::exchange(pending_draft_, {});
  std::optional<Model> model;
  try {
    model = ready.get();
  } catch (...) {
    return;  // the text continues without a draft
  }
  draft_.emplace(*model, session_);
}

void Decoder::look_up_draft() {
  latest_ = {};
  take_pending_draft();
  if (!options_.prompt_lookup) return;
  const auto found = look_up(session_.tokens(), max_drafted());
  drafted_.assign(found.begin(), found.end());
}

void Decoder::shorten_draft(std::size_t max) {
  if (!options_.constant_draft) drafted_.resize(std::min(max, drafted_.size()));
}

std::size_t Decoder::max_of_model() const {
  return draft_ && drafted_.empty() ? std::min(max_drafted(), draft_->room()) : 0;
}

void Decoder::begin_draft(std::size_t max, std::span<const Draft* const> others) {
  const std::size_t count =
      options_.constant_draft ? max_of_model() : std::min(max, max_of_model());
  if (count == 0) return;
  if (std::exchange(has_new_prompt_, false)) draft_->read_text(others);
  draft_->begin(count);
  latest_.by_model = true;
}

void Decoder::take_draft() {
  if (latest_.by_model) draft_->take(sampler_);
}

void Decoder::end_draft() {
  if (!latest_.by_model) return;
  draft_->end();
  drafted_.assign(draft_->tokens().begin(), draft_->tokens().end());
}

// Returns the max number of tokens to draft. A pass writes one more token than it accepts, and the
// last token of a text needs no room in the session.
std::size_t Decoder::max_drafted() const {
  const std::size_t left = options_.max_new_tokens - result_.tokens.size();
  return std::min({options_.max_draft_tokens, left - 1, session_.capacity() - session_.position()});
}

bool Decoder::ends_text(TokenId token) const {
  const std::vector<TokenId>& eos = session_.model().config().eos_token_id;
  return std::ranges::count(options_.stop_tokens, token) != 0 ||
         (!options_.ignore_eos && std::ranges::count(eos, token) != 0);
}

}  // namespace gpt2
