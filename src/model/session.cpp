#include "gpt2/session.h"

#include <algorithm>
#include <chrono>

#include "base/fail.h"
#include "gpt2/runtime.h"
#include "model/session_impl.h"

namespace gpt2 {
namespace {

void check(const Slice& slice, std::span<const Slice> all) {
  const Session::Impl& session = slice.session->impl();
  const std::size_t vocab_size = session.model.config().vocab_size;
  if (session.model.transformer() != all.front().session->model().transformer()) {
    reject("the sessions of one forward pass must be of one model");
  }
  if (std::ranges::count(all, slice.session, &Slice::session) > 1) {
    reject("a session appears twice in a forward pass");
  }
  if (slice.tokens.empty()) reject("a forward pass needs at least one token");
  const std::size_t room = session.cache.capacity() - session.position;
  if (slice.tokens.size() > room) {
    reject("the session has room for ", room, " more tokens, got ", slice.tokens.size());
  }
  for (const TokenId token : slice.tokens) {
    if (token < 0 || static_cast<std::size_t>(token) >= vocab_size) {
      reject("token id ", token, " is outside the model's vocabulary of ", vocab_size);
    }
  }
  if (slice.logits.size() % vocab_size != 0 ||
      slice.logits.size() / vocab_size > slice.tokens.size()) {
    reject("the logits of ", slice.tokens.size(), " tokens take a multiple of ", vocab_size,
           " floats, at most one for each token, got room for ", slice.logits.size());
  }
}

// Adds tokens [begin, end) of the slice to the batch.
void append(Batch& batch, const Slice& slice, std::size_t begin, std::size_t end) {
  Session::Impl& session = slice.session->impl();
  const std::size_t vocab_size = session.model.config().vocab_size;
  const std::size_t unwanted = slice.tokens.size() - slice.logits.size() / vocab_size;
  batch.slices.push_back({&session.cache, batch.tokens.size(), end - begin, session.position});
  const std::size_t from = std::clamp(unwanted, begin, end);
  batch.wanted.push_back(
      {&session.cache, batch.logits.size(), end - from, session.position + from - begin});
  for (std::size_t i = begin; i < end; ++i) {
    if (i >= from) batch.logits.push_back(slice.logits.data() + (i - unwanted) * vocab_size);
    batch.tokens.push_back(slice.tokens[i]);
    batch.position.push_back(session.position++);
  }
}

}  // namespace

// In every layer threads wait for one another about ten times, a few microseconds in all: a share
// of 320 KiB to read, or of as much work on what the caches hold, takes several times that.
int useful_threads(const Model& model, std::size_t rows, int most) noexcept {
  constexpr std::size_t kShare = std::size_t{320} << 10;
  constexpr std::size_t kRows = 8;  // take about as long as to read the weights
  const std::size_t layer = model.bytes_per_token() / model.config().n_layer;
  const std::size_t shares = layer * std::max(rows, kRows) / kRows / kShare;
  return static_cast<int>(std::clamp<std::size_t>(shares, 1, static_cast<std::size_t>(most)));
}

Session::Impl::Impl(const Model& m, const SessionOptions& options)
    : model(m),
      threads(options.threads > 0 ? options.threads : thread_count()),
      fewer_threads(options.threads <= 0),
      cache(m.config(), options.max_tokens > 0 ? options.max_tokens : m.config().n_positions),
      workspace(m.config(), cache.capacity(), threads),
      batch(kMaxRows),
      logits(m.config().vocab_size) {}

void Session::Impl::run() {
  const int team = fewer_threads ? useful_threads(model, batch.tokens.size(), threads) : threads;
  if (batch.tokens.size() > kFewRows) workspace.expect_many_rows();
  const bool may_choose = fewer_threads && team > 1 && batch.tokens.size() == 1;
  const bool alone = may_choose && pace.next_is_alone();
  const auto start = std::chrono::steady_clock::now();
  parallel(alone ? 1 : team,
           [this](Team& t) { model.transformer()->forward(t, batch, workspace, observer); });
  if (may_choose) pace.took(alone, std::chrono::steady_clock::now() - start);
  batch.clear();
}

Session::Session(const Model& model, const SessionOptions& options) {
  const std::size_t n_positions = model.config().n_positions;
  if (options.max_tokens > n_positions) {
    reject("a session of ", options.max_tokens, " tokens is longer than the model's ", n_positions,
           " positions");
  }
  impl_ = std::make_unique<Impl>(model, options);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::span<const float> Session::forward(std::span<const TokenId> tokens) {
  const Slice slice{this, tokens, {impl_->logits.data(), impl_->logits.size()}};
  gpt2::forward(std::span(&slice, 1));
  return slice.logits;
}

void Session::rewind(std::size_t position) {
  if (position > impl_->position) {
    reject("cannot rewind to position ", position, ": the session has come to ", impl_->position);
  }
  impl_->position = position;
}

Session Session::fork() const {
  const int threads = impl_->fewer_threads ? 0 : impl_->threads;
  Session copy(model(), {.max_tokens = capacity(), .threads = threads});
  copy.impl_->cache.copy_from(impl_->cache, impl_->position);
  copy.impl_->position = impl_->position;
  return copy;
}

std::size_t Session::position() const noexcept { return impl_->position; }
std::size_t Session::capacity() const noexcept { return impl_->cache.capacity(); }
const Model& Session::model() const noexcept { return impl_->model; }

void forward(std::span<const Slice> slices) {
  if (slices.empty()) return;
  for (const Slice& slice : slices) check(slice, slices);
  // The first session's workspace serves all; passes of kMaxRows rows follow one another.
  Session::Impl& lead = slices.front().session->impl();
  for (const Slice& slice : slices) {
    for (std::size_t begin = 0; begin < slice.tokens.size();) {
      if (lead.batch.tokens.size() == kMaxRows) lead.run();
      const std::size_t room = kMaxRows - lead.batch.tokens.size();
      const std::size_t end = std::min(slice.tokens.size(), begin + room);
      append(lead.batch, slice, begin, end);
      begin = end;
    }
  }
  lead.run();
}

}  // namespace gpt2
