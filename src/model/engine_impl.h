#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/system/threads.h"
#include "base/team.h"
#include "gpt2/engine.h"
#include "gpt2/session.h"
#include "model/kv_cache.h"
#include "model/process_mutex.h"
#include "model/transformer.h"
#include "model/workspace.h"

namespace gpt2 {

/// Returns the number of threads, at most `max_threads`, with which a pass of `rows` rows is
/// expected to be fastest.
[[nodiscard]] int useful_threads(const Model& model, std::size_t rows, int max_threads) noexcept;

/// Throws Error(invalid_argument) unless a model with this config has hidden states of this layer
/// (see gpt2/embed.h).
void check_layer(std::size_t layer, const Config& config);

struct Engine::Impl {
  struct Crew;

  /// Starts threads, unless the engine shares those of `others`.
  Impl(const Model& model, const EngineOptions& options, std::shared_ptr<Crew> others = nullptr);

  /// Returns an engine of another model, a draft, whose passes run on the threads of this one. As
  /// long as a session of such an engine exists, returns the same engine for the same model. Throws
  /// std::bad_alloc.
  [[nodiscard]] Engine engine_of(const Model& draft);

  /// Like Engine::forward, but computes with `weights`, which may be another model of the same
  /// sizes. A quantized copy drafts tokens in this way: it reads and writes the same keys and
  /// values.
  ///
  /// If `hidden_stage` is set, the `logits` of the slices receive the hidden states of that stage
  /// instead (see Pass), n_embd floats for each row. If `watch` is set, it receives the
  /// intermediate results of the passes.
  void forward(std::span<const Slice> slices, const Model& weights,
               std::optional<std::size_t> hidden_stage = std::nullopt, Watch* watch = nullptr);

  /// Calls f() with the lock of the crew, and the threads in the state that passes need.
  template <class F>
  void with_crew(const F& f) {
    const auto lock = crew->lock();
    const DefaultFloatState state;
    crew->team.restart_after_fork();
    batch.clear();  // after fork(), it may contain an unfinished one of one of the parent's threads
    f();
  }

  /// Sets the number of threads and the memory for a pass of `rows` rows.
  void prepare(const Model& weights, std::size_t rows) noexcept;

  /// The threads that run passes. An engine shares them with the engines of its drafts.
  struct Crew {
    explicit Crew(int count) : team(count) {}

    /// Locks the mutex. Throws Error(invalid_argument) in a callback of a pass of this crew, where
    /// the thread would wait for itself forever.
    [[nodiscard]] std::unique_lock<ProcessMutex> lock();

    ProcessMutex mutex;  ///< held during a pass
    Team team;           ///< guarded by the mutex
  };

  Model model;
  int threads;                       ///< the max number of threads that a pass uses
  bool fewer_threads;                ///< whether a pass uses fewer threads if that is faster
  KVType kv_type;                    ///< the type for new sessions: f32 or f16
  Workspace workspace;               ///< allocated before the threads take memory
  std::shared_ptr<Crew> crew;        ///< its mutex guards the workspace and the members below too
  Batch batch;                       ///< with room for kMaxRows rows
  std::weak_ptr<Impl> draft_engine;  ///< the latest engine that engine_of() returned
};

/// The state of one sequence. It does not include any state of threads or passes.
struct Session::Impl {
  Impl(const Engine& engine, std::size_t capacity);

  [[nodiscard]] std::size_t room() const noexcept { return cache.capacity() - tokens.size(); }

  /// Throws Error(invalid_argument) unless there is room for these tokens and all of them are in
  /// the vocabulary.
  void require_fitting(std::span<const TokenId> more) const;

  /// Drops the keys and values of all tokens but the first `count`. The next pass computes those of
  /// the other tokens again. Throws std::bad_alloc, and then changes nothing.
  void keep_computed(std::size_t count);

  Engine engine;
  KVCache cache;
  std::vector<TokenId> tokens;  ///< the tokens of the sequence; memory for all that fit is reserved
  std::size_t computed = 0;     ///< how many of the first tokens have keys and values in the cache
  /// How many of the first tokens have keys and values that depend on the tokens alone. Those of
  /// later tokens may have been changed by an observer.
  std::size_t unchanged = SIZE_MAX;
  TextHistory history = {};
  AlignedBuffer<float> logits;        ///< (vocab_size): the result of Session::forward
  std::optional<Session> draft = {};  ///< the session of the latest smaller draft model
};

/// Returns the state of the slice's session. Throws Error(invalid_argument) if the slice has no
/// session, or if the session was moved from.
[[nodiscard]] Session::Impl& session_of(const Slice& slice);

}  // namespace gpt2
