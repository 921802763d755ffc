#include "generate/draft.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "generate/prefix_cache.h"
#include "generate/prompt_reader.h"
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

Draft::Draft(const Model& model, Session& text)
    : model_(model),
      text_(text),
      session_(&session_for(model, text)),
      logits_(model.config().vocab_size) {}

std::size_t Draft::memory_bytes(const Model& model, const Config& text,
                                std::size_t capacity) noexcept {
  const Config& config = model.config();
  if (has_sizes_of(config, text)) return 0;
  const KVType type = resolved(KVType::automatic, model.weight_type());
  return Session::memory_bytes(config, type, std::min(capacity, config.n_positions));
}

std::size_t Draft::room() const noexcept {
  return session_->capacity() + 1 - std::min(text_.position(), session_->capacity() + 1);
}

void Draft::read_text(std::span<const Draft* const> others) {
  if (is_copy()) return;
  const auto text = text_.tokens();
  const auto known_by = [&](const Session& session) {
    return std::min(common_prefix(session.tokens(), text), text.size() - 1);
  };
  const Session* best = session_;
  for (const Draft* const other : others) {
    if (can_join(*other) && known_by(*other->session_) > known_by(*best)) best = other->session_;
  }
  try {
    session_->assign(*best, known_by(*best));
    const auto unread = text.subspan(session_->position());
    const std::size_t piece = prompt_piece(model_);
    for (std::size_t first = 0; first + 1 < unread.size(); first += piece) {
      const Slice slice{
          session_, unread.subspan(first, std::min(piece, unread.size() - 1 - first)), {}};
      forward({&slice, 1});
    }
  } catch (const std::exception&) {
    // The passes that draft read what is left, or end the draft for the same reason.
  }
}

// Brings a session of the draft's own to the beginning that it shares with the text, without the
// text's last token, whose logits are needed.
void Draft::begin(std::size_t max) {
  tokens_.clear();
  const auto text = text_.tokens();
  start_ = text.size() - 1;
  last_ = text.back();
  max_ = max;
  has_logits_ = false;
  if (is_copy()) return;
  try {
    session_->rewind(std::min(common_prefix(session_->tokens(), text), start_));
  } catch (const std::bad_alloc&) {
    give_up();
  }
}

// The first pass reads the tokens of the text that the session lacks. If the session is the text's
// own, that is only the token that waits.
Slice Draft::next() {
  has_logits_ = true;
  const auto unread = tokens_.empty() ? text_.tokens().subspan(session_->position())
                                      : std::span<const TokenId>(tokens_).last(1);
  return {session_, unread, logits_};
}

void Draft::forward(std::span<const Slice> slices) {
  session_->engine().impl().forward(slices, model_);
}

void Draft::take(Sampler& sampler) {
  if (!std::exchange(has_logits_, false)) return;
  try {
    tokens_.push_back(sampler.sample(logits_, session_->tokens()));
  } catch (const std::exception&) {
    // If the text itself leads to the exception, drawing its next token throws it again.
    give_up();
  } catch (...) {
    end();
    throw;
  }
}

// Removes from the text's session what a copy has drafted. The last token of the text waits again.
void Draft::end() {
  if (!is_copy()) return;
  text_.rewind(start_);
  text_.append(std::span(&last_, 1));
}

}  // namespace gpt2
