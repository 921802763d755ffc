#pragma once

#include "base/process_mutex.h"
#include "base/team.h"
#include "gpt2/engine.h"
#include "model/batch.h"
#include "model/transformer.h"
#include "model/workspace.h"

namespace gpt2 {

/// How many threads, up to `most`, a pass of so many rows is fastest with.
[[nodiscard]] int useful_threads(const Model& model, std::size_t rows, int most) noexcept;

struct Engine::Impl {
  Impl(const Model& model, const EngineOptions& options);

  /// One forward pass over the batch.
  void run() noexcept;

  Model model;
  int threads;         ///< at most
  bool fewer_threads;  ///< whether a pass may use fewer, if they are faster
  ProcessMutex mutex;  ///< held during a pass; guards all that follows
  Team team;
  Workspace workspace;
  Batch batch;  ///< Room for kMaxRows rows.
  ForwardObserver observer;
};

}  // namespace gpt2
