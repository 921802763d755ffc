#pragma once

#include <memory>

#include "base/aligned_buffer.h"
#include "gpt2/session.h"
#include "model/batch.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
#include "model/workspace.h"

namespace gpt2 {

/// What a session owns. The workspace and the batch are those of the passes it leads.
struct Session::Impl {
  Impl(const Model& model, const SessionOptions& options);

  /// One forward pass over the batch, which it then clears.
  void run();

  Model model;
  std::shared_ptr<const Transformer> transformer;
  int threads;
  KVCache cache;
  std::size_t position = 0;
  Workspace workspace;
  Batch batch;
  AlignedBuffer<float> logits;
  ForwardObserver* observer = nullptr;
};

}  // namespace gpt2
