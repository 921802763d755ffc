#pragma once

#include <cstddef>

#include "base/aligned_buffer.h"
#include "gpt2/config.h"
#include "kernels/kernels.h"
#include "model/walk_choices.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// The activations of one forward pass of up to kMaxRows tokens. Pages that no pass has touched
/// take no memory.
class Workspace {
 public:
  /// `keys` is the length of the longest sequence that attention will see.
  Workspace(const Config& config, std::size_t keys, int threads);

  /// Returns the bytes that a workspace takes once passes have touched all of it.
  [[nodiscard]] static std::size_t bytes(const Config& config, std::size_t keys,
                                         int threads) noexcept;

  /// Allows the system to use large pages for the activations. Call this before a pass of many
  /// rows. A pass of few rows would touch only a part of each large page, but would have to wait
  /// until the system has zeroed the whole page.
  void expect_many_rows() const noexcept { activations_.use_large_pages(); }

  Matrix x;         ///< (kMaxRows, n_embd)      the residual stream
  Matrix normed;    ///< (kMaxRows, n_embd)      the output of a LayerNorm
  Matrix qkv;       ///< (kMaxRows, 3 n_embd)    queries, keys, values
  Matrix attended;  ///< (kMaxRows, n_embd)      the outputs of all heads, side by side
  Matrix hidden;    ///< (kMaxRows, inner_dim)   the activations inside the feed-forward layer

  /// The QuantizedRows of the input of a product.
  AlignedBuffer<std::int8_t> values;
  AlignedBuffer<float> scales;
  AlignedBuffer<std::int32_t> offsets;

  /// How products of a single row and of a few rows read their weights.
  WalkChoices walks;

  /// The chunk sums of a product of at most kChunkRows rows.
  AlignedBuffer<float> chunk_sums;

  /// Returns the memory of one head for attention whose keys are shared out among threads. It holds
  /// scores for whole panels of keys, their total, and chunk sums. There is such memory for one
  /// head per thread, which is enough, because keys are shared out only if there are fewer heads
  /// than threads.
  [[nodiscard]] float* head_scores(std::size_t head) const noexcept {
    return head_scores_.data() + head * head_floats_;
  }

  /// Returns the scratch memory that a thread passes to kernels.
  [[nodiscard]] float* scratch(int rank) const noexcept {
    return scratch_.data() + static_cast<std::size_t>(rank) * scratch_floats_;
  }

  /// Returns a thread's tile of results, (kMaxRows, kTileColumns).
  static constexpr std::size_t kTileColumns = 128;
  [[nodiscard]] float* tile(int rank) const noexcept {
    return tiles_.data() + static_cast<std::size_t>(rank) * kMaxRows * kTileColumns;
  }

 private:
  template <class F>
  static void for_each_buffer(const Config& config, std::size_t keys, int threads, const F& f);

  std::size_t scratch_floats_, head_floats_;
  AlignedBuffer<float> activations_, scratch_, head_scores_, tiles_;
};

}  // namespace gpt2
