#pragma once

#include <algorithm>
#include <chrono>

#include "base/aligned_buffer.h"
#include "gpt2/session.h"
#include "model/batch.h"
#include "model/kv_cache.h"
#include "model/transformer.h"
#include "model/workspace.h"

namespace gpt2 {

/// How many threads, up to `most`, a pass of so many rows is fastest with.
[[nodiscard]] int useful_threads(const Model& model, std::size_t rows, int most) noexcept;

/// Whether one thread is faster than several, found out by the clock: where other programs keep the
/// cores busy, threads wait for one another for many times as long as they work.
class Pace {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// Whether the next pass is to be made by one thread: the second pass is, for comparison, and
  /// after a pass of several that took longer 1, 2, 4 ... 64 are, until several are faster again.
  [[nodiscard]] bool next_is_alone() noexcept { return left_ > 0 && left_-- > 0; }

  /// Tells what a pass took.
  void took(bool alone, Duration time) noexcept {
    if (alone) {
      alone_ = time;
    } else if (alone_ == Duration::zero()) {
      left_ = 1;
    } else if (time > alone_) {
      left_ = patience_;
      patience_ = std::min(2 * patience_, 64);
    } else {
      patience_ = 1;
    }
  }

 private:
  Duration alone_ = Duration::zero();  // the last pass of one thread
  int left_ = 0;                       // passes that one thread is to make
  int patience_ = 1;
};

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
