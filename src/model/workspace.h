#pragma once

#include <cstddef>

#include "base/aligned_buffer.h"
#include "gpt2/config.h"
#include "kernels/kernels.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// The activations of one forward pass of up to kMaxRows tokens. Pages that no pass has touched
/// take no memory.
class Workspace {
 public:
  /// `keys` is the length of the longest sequence that attention will see.
  Workspace(const Config& config, std::size_t keys, int threads);

  /// The bytes that a workspace takes once passes have touched all of it.
  [[nodiscard]] static std::size_t bytes(const Config& config, std::size_t keys,
                                         int threads) noexcept;

  /// To be called before a pass whose rows fill many pages: lets the system use large ones. A pass
  /// of few rows would touch one large page in each buffer and wait until all of it is zeroed.
  void expect_many_rows() const noexcept { activations_.use_large_pages(); }

  Matrix x;         ///< (kMaxRows, n_embd)      the residual stream
  Matrix normed;    ///< (kMaxRows, n_embd)      a LayerNorm's result
  Matrix qkv;       ///< (kMaxRows, 3 n_embd)    queries, keys, values
  Matrix attended;  ///< (kMaxRows, n_embd)      the heads' outputs, side by side
  Matrix hidden;    ///< (kMaxRows, inner_dim)   the activations inside the feed-forward layer

  /// Room for the QuantizedRows of the widest product's input.
  AlignedBuffer<std::int8_t> values;
  AlignedBuffer<float> scales;
  AlignedBuffer<std::int32_t> offsets;

  /// Room for the chunk sums of one row of any product.
  AlignedBuffer<float> chunk_sums;

  /// One head's room for attention whose keys are shared out among threads: scores of whole panels
  /// of keys, their total, and chunk sums. There is one for each thread, because attention is
  /// shared out by keys only where there are fewer heads than threads.
  [[nodiscard]] float* head_scores(std::size_t head) const noexcept {
    return head_scores_.data() + head * head_floats_;
  }

  /// The scratch memory that a thread gives to kernels.
  [[nodiscard]] float* scratch(int rank) const noexcept {
    return scratch_.data() + static_cast<std::size_t>(rank) * scratch_floats_;
  }

  /// A thread's tile of results, (kMaxRows, kTileColumns).
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
