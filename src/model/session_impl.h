#pragma once

#include "base/aligned_buffer.h"
#include "gpt2/session.h"
#include "model/batch.h"
#include "model/kv_cache.h"
#include "model/pace.h"
#include "model/transformer.h"
#include "model/workspace.h"

namespace gpt2 {

/// How many threads, up to `most`, a pass of so many rows is fastest with.
[[nodiscard]] int useful_threads(const Model& model, std::size_t rows, int most) noexcept;

/// What a session owns. The workspace and the batch are those of the passes it leads.
struct Session::Impl {
  Impl(const Model& model, const SessionOptions& options);

  /// One forward pass over the batch, which it then clears.
  void run();

  Model model;
  int threads;         ///< at most
  bool fewer_threads;  ///< where they are faster
  Pace pace;           ///< of passes over one token
  KVCache cache;
  std::size_t position = 0;
  Workspace workspace;
  Batch batch;
  AlignedBuffer<float> logits;
  ForwardObserver observer;
};

}  // namespace gpt2
