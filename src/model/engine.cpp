#include "gpt2/engine.h"

#include <algorithm>
#include <mutex>

#include "base/fail.h"
#include "base/float_state.h"
#include "gpt2/runtime.h"
#include "model/engine_impl.h"
#include "model/session_impl.h"

namespace gpt2 {
namespace {

int checked_threads(int threads) {
  if (threads < 0 || threads > EngineOptions::kMaxThreads) {
    reject("threads must be from 0 (one for each core) to ", EngineOptions::kMaxThreads, ", got ",
           threads);
  }
  return threads > 0 ? threads : thread_count();
}

void check_rows(const Slice& slice, std::size_t count, std::size_t vocab_size) {
  if (count == 0) reject("a forward pass needs at least one token");
  if (slice.logits.size() % vocab_size != 0 || slice.logits.size() / vocab_size > count) {
    reject("the logits of ", count, " tokens take a multiple of ", vocab_size,
           " floats, at most one row for each token, got room for ", slice.logits.size());
  }
}

void check(const Slice& slice, std::span<const Slice> all, const Model& model) {
  const Session::Impl& session = session_of(slice);
  if (session.engine.model().transformer() != model.transformer()) {
    reject("a session of this forward pass belongs to another model than the engine");
  }
  if (std::ranges::count(all, slice.session, &Slice::session) > 1) {
    reject("a session appears twice in a forward pass");
  }
  session.require_fitting(slice.tokens);
  const std::size_t count = session.tokens.size() - session.computed + slice.tokens.size();
  check_rows(slice, count, model.config().vocab_size);
}

// Adds the session's next `count` tokens that are not computed yet to the batch. `logits` are those
// of the session's last tokens.
void add(Batch& batch, Session::Impl& session, std::size_t count, std::span<float> logits) {
  const std::size_t vocab_size = session.engine.model().config().vocab_size;
  const std::size_t begin = session.computed;
  const std::size_t end = begin + count;
  const std::size_t unwanted = session.tokens.size() - logits.size() / vocab_size;
  const std::size_t from = std::clamp(unwanted, begin, end);
  batch.slices.push_back({&session.cache, batch.tokens.size(), count, begin});
  batch.wanted.push_back({&session.cache, batch.logits.size(), end - from, from});
  for (std::size_t i = begin; i < end; ++i) {
    if (i >= from) batch.logits.push_back(logits.data() + (i - unwanted) * vocab_size);
    batch.tokens.push_back(session.tokens[i]);
    batch.position.push_back(i);
  }
  session.computed = end;
}

}  // namespace

// A step of a pass costs the threads a few microseconds to share out, about ten times in each
// layer: a share of 320 KiB of weights to read, or of as much work on what the caches hold, takes
// several times that.
int useful_threads(const Model& model, std::size_t rows, int max_threads) noexcept {
  constexpr std::size_t kShare = std::size_t{320} << 10;
  constexpr std::size_t kRows = 8;  // take about as long as to read the weights
  const std::size_t layer = model.bytes_per_token() / model.config().n_layer;
  const std::size_t shares = layer * std::max(rows, kRows) / kRows / kShare;
  const auto max_shares = static_cast<std::size_t>(max_threads);
  return static_cast<int>(std::clamp<std::size_t>(shares, 1, max_shares));
}

// The workspace has room for the longest sequence that the model allows, whatever room the sessions
// of a pass have.
Engine::Impl::Impl(const Model& m, const EngineOptions& options)
    : model(m),
      threads(checked_threads(options.threads)),
      fewer_threads(options.threads == 0),
      workspace(m.config(), m.config().n_positions, threads),
      team(threads),
      batch(kMaxRows) {}

void Engine::Impl::run(const Model& weights) noexcept {
  const std::size_t rows = batch.tokens.size();
  team.resize(fewer_threads ? useful_threads(weights, rows, threads) : threads);
  if (rows > kFewRows) workspace.expect_many_rows();
  weights.transformer()->forward(team, batch, workspace, observer);
  batch.clear();
}

void Engine::Impl::forward(std::span<const Slice> slices, const Model& weights) {
  for (const Slice& slice : slices) check(slice, slices, model);
  const std::lock_guard lock(mutex);
  const DefaultFloatState state;
  team.restart_after_fork();
  batch.clear();  // a child of fork() may have inherited half a batch of another thread
  for (const Slice& slice : slices) {
    slice.session->append(slice.tokens);
    Session::Impl& session = *slice.session->impl();
    while (session.computed < session.tokens.size()) {
      if (batch.tokens.size() == kMaxRows) run(weights);
      const std::size_t waiting = session.tokens.size() - session.computed;
      add(batch, session, std::min(waiting, kMaxRows - batch.tokens.size()), slice.logits);
    }
  }
  if (!batch.tokens.empty()) run(weights);
}

Engine::Engine(const Model& model, const EngineOptions& options) {
  require_isa();
  impl_ = std::make_shared<Impl>(model, options);
}

Engine Engine::shared(const Model& model) {
  Transformer::SharedEngine& shared = *model.transformer()->shared_engine;
  const std::lock_guard lock(shared.mutex);
  std::shared_ptr<Impl> impl = shared.engine.lock();
  if (impl) return Engine(std::move(impl));
  Engine made(model);
  shared.engine = made.impl_;
  return made;
}

void Engine::forward(std::span<const Slice> slices) { impl_->forward(slices, impl_->model); }

std::size_t Engine::memory_bytes(const Config& config, int threads) noexcept {
  return Workspace::bytes(config, config.n_positions, threads);
}

const Model& Engine::model() const noexcept { return impl_->model; }

int Engine::threads() const noexcept { return impl_->threads; }

}  // namespace gpt2
