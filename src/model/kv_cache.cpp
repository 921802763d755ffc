#include "model/kv_cache.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace gpt2 {

KVCache::KVCache(const Config& config, std::size_t capacity)
    : n_layer_(config.n_layer),
      n_head_(config.n_head),
      head_dim_(config.head_dim()),
      capacity_(capacity),
      head_keys_(round_up(capacity, kPanel) * head_dim_),
      head_values_(capacity * head_dim_),
      keys_(n_layer_ * n_head_ * head_keys_),
      values_(n_layer_ * n_head_ * head_values_) {}

std::size_t KVCache::bytes(const Config& config, std::size_t capacity) noexcept {
  return config.n_layer * config.n_embd * (round_up(capacity, kPanel) + capacity) * sizeof(float);
}

void KVCache::store(std::size_t layer, std::size_t head, std::size_t first, ConstMatrix keys,
                    ConstMatrix values) noexcept {
  float* const head_keys = keys_.data() + (layer * n_head_ + head) * head_keys_;
  float* const head_values = values_.data() + (layer * n_head_ + head) * head_values_;
  for (std::size_t row = 0; row < keys.rows; ++row) {
    const std::size_t token = first + row;
    float* const column = head_keys + token / kPanel * kPanel * head_dim_ + token % kPanel;
    for (std::size_t i = 0; i < head_dim_; ++i) column[i * kPanel] = keys.row(row)[i];
    std::copy_n(values.row(row), head_dim_, head_values + token * head_dim_);
  }
}

void KVCache::copy_from(const KVCache& other, std::size_t tokens) noexcept {
  for (std::size_t head = 0; head < n_layer_ * n_head_; ++head) {
    std::copy_n(other.keys_.data() + head * head_keys_, round_up(tokens, kPanel) * head_dim_,
                keys_.data() + head * head_keys_);
    std::copy_n(other.values_.data() + head * head_values_, tokens * head_dim_,
                values_.data() + head * head_values_);
  }
}

}  // namespace gpt2
