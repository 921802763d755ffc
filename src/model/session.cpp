#include "gpt2/session.h"

#include <algorithm>

#include "base/fail.h"
#include "base/text.h"
#include "model/engine_impl.h"

namespace gpt2 {

Session::Impl::Impl(const Engine& e, std::size_t capacity)
    : engine(e),
      cache(e.model().config(), e.kv_type(), capacity),
      logits(e.model().config().vocab_size) {
  tokens.reserve(capacity);  // so that no pass allocates
}

void Session::Impl::require_fitting(std::span<const TokenId> more) const {
  if (more.size() > room()) {
    reject("the session has room for ", counted(room(), "more token"), ", got ", more.size());
  }
  const std::size_t vocab_size = engine.model().config().vocab_size;
  for (const TokenId token : more) {
    if (token < 0 || static_cast<std::size_t>(token) >= vocab_size) {
      reject("token id ", token, " is outside the model's vocabulary of ", vocab_size);
    }
  }
}

void Session::Impl::keep_computed(std::size_t count) {
  count = std::min(count, computed);
  cache.assign(cache, count, count);
  computed = count;
  if (count <= unchanged) unchanged = SIZE_MAX;
}

Session::Session(const Model& model, const SessionOptions& options)
    : Session(Engine::shared(model), options) {}

Session::Session(const Engine& engine, const SessionOptions& options) {
  const std::size_t n_positions = engine.model().config().n_positions;
  if (options.max_tokens > n_positions) {
    reject("a session of ", options.max_tokens, " tokens is longer than the model's ", n_positions,
           " positions");
  }
  impl_ = std::make_unique<Impl>(engine, options.max_tokens > 0 ? options.max_tokens : n_positions);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::span<const float> Session::forward(std::span<const TokenId> tokens) {
  Impl& own = state();
  const Slice slice{this, tokens, {own.logits.data(), own.logits.size()}};
  own.engine.forward(std::span(&slice, 1));
  return slice.logits;
}

void Session::append(std::span<const TokenId> tokens) {
  Impl& own = state();
  own.require_fitting(tokens);
  // insert() must not be used, because `tokens` may point into the tokens of this session.
  for (const TokenId token : tokens) own.tokens.push_back(token);
  if (!tokens.empty()) own.history.written = 0;
}

void Session::rewind(std::size_t position) {
  if (position > this->position()) {
    reject("cannot rewind to position ", position, ": the session has only ",
           counted(this->position(), "token"));
  }
  impl_->keep_computed(position);
  impl_->tokens.resize(position);
  impl_->history.written = 0;
  if (position == 0) impl_->history.dropped = 0;
}

std::size_t Session::slide_size(std::size_t keep, std::size_t room) const {
  const std::size_t capacity = this->capacity();
  if (room <= capacity - position()) return 0;
  if (keep > capacity || room > capacity - keep) {
    reject("the session cannot keep the first ", counted(keep, "token"), " and make room for ",
           room, " more, because it has room for ", capacity,
           " in all: keep fewer tokens, or append fewer at once");
  }
  const std::size_t others = position() - keep;
  return others - std::min(others / 2, capacity - keep - room);
}

// The keys and values of the first `keep` tokens stay valid, because their positions do not change.
std::size_t Session::slide(std::size_t keep, std::size_t room) {
  const std::size_t dropped = slide_size(keep, room);
  if (dropped == 0) return 0;
  const std::size_t prompt = position() - impl_->history.written;
  impl_->keep_computed(keep);
  const auto first = impl_->tokens.begin() + static_cast<std::ptrdiff_t>(keep);
  impl_->tokens.erase(first, first + static_cast<std::ptrdiff_t>(dropped));
  impl_->history.dropped += dropped;
  // The tokens of the prompt that `keep` protects are still tokens of the prompt.
  impl_->history.written = std::min(impl_->history.written, position() - std::min(keep, prompt));
  return dropped;
}

Session Session::fork() const {
  Session copy(engine(), {.max_tokens = capacity()});
  copy.assign(*this);
  return copy;
}

void Session::assign(const Session& other) {
  const std::size_t position = other.position();
  if (&other == this) return;
  assign(other, position);
  impl_->history = other.impl_->history;
}

void Session::assign(const Session& other, std::size_t position) {
  if (other.model().transformer() != model().transformer()) {
    reject("cannot assign a session of another model");
  }
  const KVType type = impl_->cache.type();
  const KVType other_type = other.impl_->cache.type();
  if (other_type != type) {
    reject("cannot assign a session whose keys and values are ", name_of(other_type),
           ": those of this one are ", name_of(type));
  }
  if (position > other.position()) {
    reject("cannot assign ", position, " tokens of a session that has only ", other.position());
  }
  if (position > capacity()) {
    reject("cannot assign a session of ", position, " tokens: this one has room for ", capacity());
  }
  if (&other == this) {
    rewind(position);
    impl_->history.dropped = 0;
    return;
  }
  const std::size_t computed = std::min(position, other.impl_->computed);
  const auto begin = impl_->tokens.begin();
  const std::size_t comparable =
      std::min({impl_->computed, computed, impl_->unchanged, other.impl_->unchanged});
  const auto end = begin + static_cast<std::ptrdiff_t>(comparable);
  const auto differs = std::mismatch(begin, end, other.impl_->tokens.begin()).first;
  impl_->cache.assign(other.impl_->cache, static_cast<std::size_t>(differs - begin), computed);
  const auto tokens = other.tokens().first(position);
  impl_->tokens.assign(tokens.begin(), tokens.end());  // does not allocate
  impl_->computed = computed;
  impl_->unchanged = computed <= other.impl_->unchanged ? SIZE_MAX : other.impl_->unchanged;
  impl_->history = {};
}

std::size_t Session::memory_bytes(const Config& config, KVType type,
                                  std::size_t max_tokens) noexcept {
  return KVCache::bytes(config, type, max_tokens);
}

std::span<const TokenId> Session::tokens() const { return state().tokens; }
std::size_t Session::position() const { return state().tokens.size(); }
std::size_t Session::waiting() const { return state().tokens.size() - impl_->computed; }
std::size_t Session::capacity() const { return state().cache.capacity(); }
const TextHistory& Session::history() const { return state().history; }

void Session::set_history(const TextHistory& history) {
  if (history.written > position()) {
    reject("a session of ", counted(position(), "token"), " cannot have ", history.written,
           " written ones");
  }
  impl_->history = history;
}

std::size_t Session::dropped() const { return state().history.dropped; }
const Model& Session::model() const { return state().engine.model(); }
const Engine& Session::engine() const { return state().engine; }

Session::Impl& Session::state() const {
  if (!impl_) reject("the session was moved from");
  return *impl_;
}

Session::Impl& session_of(const Slice& slice) {
  Session::Impl* const session = slice.session != nullptr ? slice.session->impl() : nullptr;
  if (session == nullptr) reject("a slice of a forward pass has no session, or a moved-from one");
  return *session;
}

void forward(std::span<const Slice> slices) {
  if (slices.empty()) return;
  Engine(session_of(slices.front()).engine).forward(slices);
}

}  // namespace gpt2
