#pragma once

#include <cstddef>

#include "base/aligned_buffer.h"
#include "gpt2/config.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// The keys and values of one sequence's tokens, for every layer and head.
///
/// The values of a head lie as [capacity][head_dim]. Its keys lie in panels, as
/// [panel][head_dim][kPanel], so that a query is multiplied with kPanel keys at a time (see
/// HeadAttention in kernels.h).
class KVCache {
 public:
  KVCache(const Config& config, std::size_t capacity);

  /// The bytes that a cache takes once all of its capacity is used.
  [[nodiscard]] static std::size_t bytes(const Config& config, std::size_t capacity) noexcept;

  /// Stores the keys and values of tokens first ... first + rows of one head.
  /// keys, values: (rows, head_dim).
  void store(std::size_t layer, std::size_t head, std::size_t first, ConstMatrix keys,
             ConstMatrix values) noexcept;

  [[nodiscard]] const float* keys(std::size_t layer, std::size_t head) const noexcept {
    return keys_.data() + (layer * n_head_ + head) * head_keys_;
  }
  [[nodiscard]] const float* values(std::size_t layer, std::size_t head) const noexcept {
    return values_.data() + (layer * n_head_ + head) * head_values_;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Copies the first `tokens` tokens of a cache of the same model and capacity.
  void copy_from(const KVCache& other, std::size_t tokens) noexcept;

 private:
  std::size_t n_layer_, n_head_, head_dim_, capacity_;
  std::size_t head_keys_, head_values_;  // floats of one head
  AlignedBuffer<float> keys_;
  AlignedBuffer<float> values_;
};

}  // namespace gpt2
