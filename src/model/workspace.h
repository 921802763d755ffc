#pragma once

#include <cstddef>

#include "base/aligned_buffer.h"
#include "gpt2/config.h"
#include "kernels/kernels.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// The activations of one forward pass of up to kMaxRows tokens. Pages that a pass does not reach
/// take no memory.
class Workspace {
 public:
  /// `keys`: the longest sequence attention will see. There are as many head_scores as threads.
  Workspace(const Config& config, std::size_t keys, int threads);

  /// What one takes where passes reach all of it.
  [[nodiscard]] static std::size_t bytes(const Config& config, std::size_t keys,
                                         int threads) noexcept;

  /// Before a pass whose rows fill many pages. Few rows would touch a large one for each buffer,
  /// and wait until all of it is zeroed.
  void expect_many_rows() const noexcept { activations_.use_large_pages(); }

  Matrix x;         ///< (kMaxRows, n_embd)      the residual stream
  Matrix normed;    ///< (kMaxRows, n_embd)      what a LayerNorm made of it
  Matrix qkv;       ///< (kMaxRows, 3 n_embd)    queries, keys, values
  Matrix attended;  ///< (kMaxRows, n_embd)      the heads' outputs, side by side
  Matrix hidden;    ///< (kMaxRows, inner_dim)   the feed-forward layer's inside

  /// Room for the QuantizedRows of the widest product's input.
  AlignedBuffer<std::int8_t> values;
  AlignedBuffer<float> scales;
  AlignedBuffer<std::int32_t> offsets;

  /// Room for the chunk sums of one row of any product.
  AlignedBuffer<float> chunk_sums;

  /// A head's, for attention that threads share out by keys: scores of whole panels of keys, a
  /// total, and chunk sums.
  [[nodiscard]] float* head_scores(std::size_t head) const noexcept {
    return head_scores_.data() + head * head_floats_;
  }

  /// A thread's own, for kernels.
  [[nodiscard]] float* scratch(int rank) const noexcept {
    return scratch_.data() + static_cast<std::size_t>(rank) * scratch_floats_;
  }

  /// A thread's own tile of results (kMaxRows, kTileColumns).
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
