#include "generate/writing/drafter.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "base/fail.h"
#include "generate/writing/prefix_cache.h"
#include "generate/writing/prompt_reader.h"
#include "model/engine_impl.h"
#include "model/session_impl.h"

namespace gpt2 {
namespace {

bool has_sizes_of(const Config& a, const Config& b) noexcept {
  return a.n_positions == b.n_positions && a.n_embd == b.n_embd && a.n_layer == b.n_layer &&
         a.n_head == b.n_head && a.inner_dim() == b.inner_dim();
}

// Returns the session that the draft model reads and writes: the text's, or the model's own.
Session& session_for(const Model& model, Session& text) {
  const Config& config = model.config();
  const Config& of_text = text.model().config();
  if (config.vocab_size != of_text.vocab_size) {
    reject("the draft must have the vocabulary of the model: it has ", config.vocab_size,
           " tokens, expected ", of_text.vocab_size);
  }
  if (has_sizes_of(config, of_text)) return text;
  std::optional<Session>& own = text.impl()->draft;
  if (!own || own->model().transformer() != model.transformer()) {
    own.reset();  // frees its memory first
    own.emplace(text.engine().impl().engine_of(model),
                SessionOptions{.max_tokens = std::min(text.capacity(), config.n_positions)});
  }
  return *own;
}

}  // namespace

Drafter::Drafter(Session& text, const GenerationOptions& options)
    : text_(text),
      max_tokens_(options.max_draft_tokens),
      is_constant_(options.constant_draft),
      looks_up_(options.prompt_lookup),
      pending_model_(options.pending_draft) {
  if (max_tokens_ < 1 || max_tokens_ > GenerationOptions::kMaxDraft) {
    reject("max_draft_tokens must be from 1 to ", GenerationOptions::kMaxDraft, ", got ",
           max_tokens_);
  }
  if (options.draft && pending_model_.valid()) {
    reject("draft and pending_draft are both set: give one of them");
  }
  if (options.draft) set_model(*options.draft);
}

std::size_t Drafter::memory_bytes(const Model& model, const Config& text,
                                  std::size_t capacity) noexcept {
  const Config& config = model.config();
  if (has_sizes_of(config, text)) return 0;
  const KVType type = resolved(KVType::automatic, model.weight_type());
  return Session::memory_bytes(config, type, std::min(capacity, config.n_positions));
}

void Drafter::set_model(const Model& model) {
  session_ = &session_for(model, text_);
  logits_.resize(model.config().vocab_size);
  model_ = model;
}

// Starts to use the pending model if it is ready.
void Drafter::take_pending_model() {
  if (!pending_model_.valid()) return;
  if (pending_model_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return;
  const auto ready = std::exchange(pending_model_, {});
  std::optional<Model> model;
  try {
    model = ready.get();
  } catch (...) {
    return;  // the text continues without a draft
  }
  set_model(*model);
}

void Drafter::look_up(std::size_t max) {
  tokens_.clear();
  by_model_ = false;
  has_logits_ = false;
  max_of_pass_ = std::min(max, max_tokens_);
  max_ = 0;
  take_pending_model();
  if (!looks_up_) return;
  const auto found = gpt2::look_up(text_.tokens(), max_of_pass_);
  tokens_.assign(found.begin(), found.end());
}

void Drafter::shorten(std::size_t max) {
  if (!is_constant_) tokens_.resize(std::min(max, tokens_.size()));
}

std::size_t Drafter::max_of_model() const {
  if (!model_ || !tokens_.empty()) return 0;
  const std::size_t room = session_->capacity() + 1;  // the text's last token needs none
  return std::min(max_of_pass_, room - std::min(text_.position(), room));
}

// Brings a session of the model's own to the beginning that it shares with the text, without the
// text's last token, whose logits are needed.
void Drafter::begin(std::size_t max, std::span<const Drafter* const> others) {
  max_ = is_constant_ ? max_of_model() : std::min(max, max_of_model());
  if (max_ == 0) return;
  by_model_ = true;
  if (std::exchange(has_new_prompt_, false) && !is_copy()) read_text(others);
  const auto text = text_.tokens();
  start_ = text.size() - 1;
  last_ = text.back();
  if (is_copy()) return;
  try {
    session_->rewind(std::min(common_prefix(session_->tokens(), text), start_));
  } catch (const std::bad_alloc&) {
    max_ = 0;
  }
}

// Reads the text, except for its last token, in pieces like a prompt. The draft then has only the
// last token to read. Stops reading if there is not enough memory.
void Drafter::read_text(std::span<const Drafter* const> others) {
  const auto text = text_.tokens();
  const auto known_by = [&](const Session& session) {
    return std::min(common_prefix(session.tokens(), text), text.size() - 1);
  };
  const Session* best = session_;
  for (const Drafter* const other : others) {
    if (can_join(*other) && known_by(*other->session_) > known_by(*best)) best = other->session_;
  }
  try {
    session_->assign(*best, known_by(*best));
    const auto unread = text.subspan(session_->position());
    const std::size_t piece = prompt_piece(*model_);
    for (std::size_t first = 0; first + 1 < unread.size(); first += piece) {
      const Slice slice{
          session_, unread.subspan(first, std::min(piece, unread.size() - 1 - first)), {}};
      forward({&slice, 1});
    }
  } catch (const std::exception&) {
    // The passes that draft read what is left, or end the draft for the same reason.
  }
}

// The first pass reads the tokens of the text that the session lacks. If the session is the text's
// own, that is only the token that waits.
Slice Drafter::next() {
  has_logits_ = true;
  const auto unread = tokens_.empty() ? text_.tokens().subspan(session_->position())
                                      : std::span<const TokenId>(tokens_).last(1);
  return {session_, unread, logits_};
}

bool Drafter::can_join(const Drafter& other) const noexcept {
  return model_ && other.model_ && model_->transformer() == other.model_->transformer();
}

void Drafter::forward(std::span<const Slice> slices) {
  session_->engine().impl().forward(slices, *model_);
}

void Drafter::take(Sampler& sampler) {
  if (!std::exchange(has_logits_, false)) return;
  try {
    tokens_.push_back(sampler.sample(logits_, session_->tokens()));
  } catch (const std::exception&) {
    // If the text itself leads to the exception, drawing its next token throws it again.
    max_ = 0;
  } catch (...) {
    end();
    throw;
  }
}

// Removes from the text's session what a copy has drafted. The last token of the text waits again.
void Drafter::end() {
  if (!by_model_ || !is_copy()) return;
  text_.rewind(start_);
  text_.append(std::span(&last_, 1));
}

void Drafter::note_checked(std::size_t accepted) noexcept {
  latest_ = {by_model_, tokens_.size(), accepted};
  by_model_ = false;
  tokens_.clear();
}

std::span<const TokenId> look_up(std::span<const TokenId> ids, std::size_t max) {
  // Matches of two tokens are too often accidental, and matches of four are too rare.
  constexpr std::size_t kMatched = 3;
  if (ids.size() <= kMatched) return {};
  const auto last = ids.last(kMatched);
  for (std::size_t begin = ids.size() - kMatched; begin-- > 0;) {
    if (!std::ranges::equal(ids.subspan(begin, kMatched), last)) continue;
    const auto following = ids.subspan(begin + kMatched);
    return following.first(std::min(max, following.size()));
  }
  return {};
}

}  // namespace gpt2
