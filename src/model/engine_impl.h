#pragma once

#include <mutex>
#include <optional>

#include "base/process_mutex.h"
#include "base/team.h"
#include "gpt2/engine.h"
#include "model/batch.h"
#include "model/transformer.h"
#include "model/workspace.h"

namespace gpt2 {

/// Returns the number of threads, at most `max_threads`, with which a pass of `rows` rows is
/// expected to be fastest.
[[nodiscard]] int useful_threads(const Model& model, std::size_t rows, int max_threads) noexcept;

struct Engine::Impl {
  Impl(const Model& model, const EngineOptions& options);

  /// Like Engine::forward, but computes with `weights`, which may be another model of the same
  /// sizes. Drafts of tokens are computed in this way. They read and write the same keys and
  /// values.
  ///
  /// If `hidden_stage` is set, the `logits` of the slices receive the hidden states of that stage
  /// instead (see Batch), n_embd floats for each row. If `watch` is set, it receives the
  /// intermediate results of the passes.
  void forward(std::span<const Slice> slices, const Model& weights,
               std::optional<std::size_t> hidden_stage = std::nullopt, Watch* watch = nullptr);

  /// Calls f(i, rank) for every i below `count`, on the same number of threads as the latest pass
  /// (see Team::for_each). `rank` is less than `threads`. f must not throw.
  template <class F>
  void for_each(std::size_t count, const F& f) {
    const std::lock_guard lock(mutex);
    team.restart_after_fork();
    team.for_each(count, f);
  }

  /// Runs one forward pass over the batch and then empties it.
  void run(const Model& weights) noexcept;

  Model model;
  int threads;         ///< the max number of threads that a pass uses
  bool fewer_threads;  ///< whether a pass uses fewer threads if that is faster
  KVType kv_type;      ///< of new sessions: f32 or f16
  ProcessMutex mutex;  ///< held during a pass; guards the members below
  Workspace workspace;  ///< before `team`, so that it is allocated before threads take memory
  Team team;
  Batch batch;  ///< with room for kMaxRows rows
};

}  // namespace gpt2
