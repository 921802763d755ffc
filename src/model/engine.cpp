#include "gpt2/engine.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "base/fail.h"
#include "gpt2/embed.h"
#include "gpt2/runtime.h"
#include "model/engine_impl.h"
#include "model/watch.h"

namespace gpt2 {
namespace {

int checked_threads(int threads) {
  if (threads < 0 || threads > EngineOptions::kMaxThreads) {
    reject("threads must be from 0 (one for each core) to ", EngineOptions::kMaxThreads, ", got ",
           threads);
  }
  return threads > 0 ? threads : thread_count();
}

// The kind and size of the result that a pass computes for each wanted row.
struct Result {
  const char* name;
  std::size_t size;  // the number of floats
};

Result result_of(const Config& config, bool is_hidden) {
  return is_hidden ? Result{"hidden states", config.n_embd} : Result{"logits", config.vocab_size};
}

void check_rows(const Slice& slice, std::size_t count, const Result& result) {
  if (count == 0) reject("a forward pass needs at least one token");
  if (slice.logits.size() % result.size != 0 || slice.logits.size() / result.size > count) {
    reject("the ", result.name, " of ", count, " tokens take a multiple of ", result.size,
           " floats, at most one row for each token, got room for ", slice.logits.size());
  }
}

void check(const Slice& slice, std::span<const Slice> all, const Model& model,
           const Result& result) {
  const Session::Impl& session = session_of(slice);
  if (session.engine.model().transformer() != model.transformer()) {
    reject("a session of this forward pass belongs to another model than the engine");
  }
  if (std::ranges::count(all, slice.session, &Slice::session) > 1) {
    reject("a session appears twice in a forward pass");
  }
  session.require_fitting(slice.tokens);
  const std::size_t count = session.tokens.size() - session.computed + slice.tokens.size();
  check_rows(slice, count, result);
}

// Appends the tokens of the slices to their sessions, and notes which of them may be changed.
void append(std::span<const Slice> slices, const Watch* watch) {
  for (const Slice& slice : slices) {
    slice.session->append(slice.tokens);
    Session::Impl& session = *slice.session->impl();
    if (watch && watch->may_change()) {
      session.unchanged = std::min(session.unchanged, session.computed);
    }
  }
}

// Adds as many tokens of the session as fit, of those that have not been computed yet, to the
// batch. `results` receives `size` floats for each of the session's last tokens. `index` is the
// index of the slice.
void add(Batch& batch, Session::Impl& session, std::size_t index, std::span<float> results,
         std::size_t size) {
  const std::size_t begin = session.computed;
  const std::size_t end = std::min(session.tokens.size(), begin + kMaxRows - batch.tokens.size());
  const std::size_t unwanted = session.tokens.size() - results.size() / size;
  const std::size_t from = std::clamp(unwanted, begin, end);
  batch.slices.push_back({&session.cache, batch.tokens.size(), end - begin, begin, index});
  batch.wanted.push_back({&session.cache, batch.logits.size(), end - from, from, index});
  for (std::size_t i = begin; i < end; ++i) {
    if (i >= from) batch.logits.push_back(results.data() + (i - unwanted) * size);
    batch.tokens.push_back(session.tokens[i]);
    batch.position.push_back(i);
  }
  session.computed = end;
}

// Computes the logits of at most kMaxRows states. Does not allocate: the batch has room for the
// addresses of so many rows.
void unembed_rows(Engine::Impl& engine, ConstMatrix states, float* logits,
                  const UnembedOptions& options) {
  const Transformer& transformer = *engine.model.transformer();
  Pass pass{engine.crew->team, engine.workspace, engine.batch};
  const Rows x = {engine.workspace.x.top(states.rows), pass};
  for (std::size_t i = 0; i < states.rows; ++i) {
    std::copy_n(states.row(i), states.cols, x.row(i));
    engine.batch.logits.push_back(logits + i * transformer.lm_head.n);
  }
  const Matrix normed = options.ln_f ? transformer.ln_f(x) : x;
  project_rows(pass, engine.batch.logits.data(), transformer.lm_head, normed);
  engine.batch.clear();
}

}  // namespace

// Sharing out a step of a pass costs the threads a few microseconds, and a layer has about ten
// steps. Therefore each thread should have a share of each layer that takes several times as long:
// 320 KiB of weights to read, or work on cached data that takes the same time.
//
// Of many threads, a further one costs more than it gains, because in each step it takes two cache
// lines from another thread. COSTS.md derives that the best number is sqrt(layer / 20 KB).
int useful_threads(const Model& model, std::size_t rows, int max_threads) noexcept {
  constexpr std::size_t kShare = std::size_t{320} << 10;
  constexpr double kGain = 20e3;
  constexpr std::size_t kRows = 8;  // computing 8 rows takes about as long as reading the weights
  const std::size_t layer =
      model.bytes_per_token() / model.config().n_layer * std::max(rows, kRows) / kRows;
  const auto gaining = static_cast<std::size_t>(std::sqrt(static_cast<double>(layer) / kGain));
  const auto most = static_cast<std::size_t>(max_threads);
  return static_cast<int>(std::clamp<std::size_t>(std::min(layer / kShare, gaining), 1, most));
}

KVType checked_kv_type(KVType type, const Model& model) {
  if (name_of(type).empty()) reject("keys and values have no type ", static_cast<int>(type));
  return resolved(type, model.weight_type());
}

std::unique_lock<ProcessMutex> Engine::Impl::Crew::lock() {
  if (mutex.is_held_by_caller()) {
    reject(
        "a callback must not use the engine whose pass calls it, because the pass is not over: "
        "use the engine after the pass, or another one");
  }
  return std::unique_lock(mutex);
}

// The workspace has room for the longest sequence that the model allows, even if all sessions are
// shorter.
Engine::Impl::Impl(const Model& m, const EngineOptions& options, std::shared_ptr<Crew> others)
    : model(m),
      threads(checked_threads(options.threads)),
      fewer_threads(options.threads == 0),
      kv_type(checked_kv_type(options.kv_type, m)),
      workspace(m.config(), m.config().n_positions, threads),
      crew(others ? std::move(others) : std::make_shared<Crew>(threads)),
      batch(kMaxRows) {}

Engine Engine::Impl::engine_of(const Model& draft) {
  const auto lock = crew->lock();
  std::shared_ptr<Impl> engine = draft_engine.lock();
  if (!engine || engine->model.transformer() != draft.transformer()) {
    const EngineOptions options = {.threads = fewer_threads ? 0 : threads};
    engine = std::make_shared<Impl>(draft, options, crew);
    draft_engine = engine;
  }
  return Engine(std::move(engine));
}

void Engine::Impl::prepare(const Model& weights, std::size_t rows) noexcept {
  crew->team.resize(fewer_threads ? useful_threads(weights, rows, threads) : threads);
  if (rows > kFewRows) workspace.expect_many_rows();
}

void Engine::Impl::forward(std::span<const Slice> slices, const Model& weights,
                           std::optional<std::size_t> hidden_stage, Watch* watch) {
  const Result result = result_of(model.config(), hidden_stage.has_value());
  for (const Slice& slice : slices) check(slice, slices, model, result);
  with_crew([&] {
    append(slices, watch);
    Pass pass{crew->team, workspace, batch, hidden_stage, watch};
    const auto run = [&] {
      prepare(weights, batch.tokens.size());
      weights.transformer()->forward(pass);
      batch.clear();
    };
    for (std::size_t index = 0; index < slices.size(); ++index) {
      Session::Impl& session = *slices[index].session->impl();
      while (session.computed < session.tokens.size()) {
        if (batch.tokens.size() == kMaxRows) run();
        add(batch, session, index, slices[index].logits, result.size);
      }
    }
    if (!batch.tokens.empty()) run();
  });
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

void Engine::for_each(std::size_t count,
                      const std::function<void(std::size_t i, int rank)>& f) const {
  const auto lock = impl_->crew->lock();
  impl_->crew->team.restart_after_fork();
  impl_->crew->team.for_each(count, f);
}

int Engine::threads() const noexcept { return impl_->threads; }

KVType Engine::kv_type() const noexcept { return impl_->kv_type; }

std::vector<WalkChoice> Engine::walks() const {
  const auto lock = impl_->crew->lock();
  return impl_->workspace.walks.list();
}

void check_layer(std::size_t layer, const Config& config) {
  if (layer <= config.n_layer) return;
  reject("the layer must be from 0, the embeddings, to ", config.n_layer,
         ", the output of the last block, got ", layer);
}

void hidden_states(std::span<const HiddenSlice> slices, std::size_t layer) {
  if (slices.empty()) return;
  std::vector<Slice> same;
  for (const auto& [session, tokens, states] : slices) same.push_back({session, tokens, states});
  const Engine engine = session_of(same.front()).engine;
  const std::size_t n_layer = engine.model().config().n_layer;
  check_layer(layer, engine.model().config());
  // The transformer's stage n_layer is the output of the last block before ln_f.
  engine.impl().forward(same, engine.model(), layer < n_layer ? layer : n_layer + 1);
}

void unembed(const Engine& engine, std::span<const float> states, std::span<float> logits,
             const UnembedOptions& options) {
  Engine::Impl& own = engine.impl();
  const std::size_t n_embd = own.model.config().n_embd;
  const std::size_t vocab_size = own.model.config().vocab_size;
  const std::size_t count = states.size() / n_embd;
  if (states.size() % n_embd != 0) {
    reject("hidden states take a multiple of ", n_embd, " floats, got ", states.size());
  }
  if (logits.size() != count * vocab_size) {
    reject("the logits of ", count, " hidden states take ", count * vocab_size,
           " floats, got room for ", logits.size());
  }
  own.with_crew([&] {
    for (std::size_t begin = 0; begin < count; begin += kMaxRows) {
      const std::size_t rows = std::min(count - begin, kMaxRows);
      own.prepare(own.model, rows);
      unembed_rows(own, {states.data() + begin * n_embd, rows, n_embd, n_embd},
                   logits.data() + begin * vocab_size, options);
    }
  });
}

}  // namespace gpt2
