#include "model/kv_cache.h"

#include <algorithm>
#include <utility>

namespace gpt2 {

KVCache::KVCache(const Config& config, std::size_t capacity)
    : n_layer_(config.n_layer),
      n_head_(config.n_head),
      head_dim_(config.head_dim()),
      capacity_(capacity),
      head_keys_(round_up(std::min(capacity, kChunk), kPanel) * head_dim_),
      head_values_(std::min(capacity, kChunk) * head_dim_) {
  const std::size_t count = ceil_div(capacity, kChunk);
  blocks_.reserve(count);
  floats_.reserve(count);
  while (blocks_.size() < count) {
    blocks_.push_back(new_block());
    floats_.push_back(blocks_.back().data());
  }
}

KVBlock KVCache::new_block() const {
  return KVBlock(n_layer_ * n_head_ * (head_keys_ + head_values_));
}

std::size_t KVCache::bytes(const Config& config, std::size_t capacity) noexcept {
  return config.n_layer * config.n_embd * (round_up(capacity, kPanel) + capacity) * sizeof(float);
}

void KVCache::store(std::size_t layer, std::size_t head, std::size_t first, ConstMatrix keys,
                    ConstMatrix values) noexcept {
  for (std::size_t row = 0; row < keys.rows; ++row) {
    float* const block = blocks_[(first + row) / kChunk].data();
    const std::size_t token = (first + row) % kChunk;
    float* const column = block + this->keys(layer, head) + key_offset(token);
    for (std::size_t i = 0; i < head_dim_; ++i) column[i * kPanel] = keys.row(row)[i];
    std::copy_n(values.row(row), head_dim_, block + this->values(layer, head) + token * head_dim_);
  }
}

void KVCache::read(std::size_t layer, std::size_t head, Matrix keys, Matrix values) const noexcept {
  for (std::size_t row = 0; row < keys.rows; ++row) {
    const float* const block = floats_[row / kChunk];
    const std::size_t token = row % kChunk;
    const float* const column = block + this->keys(layer, head) + key_offset(token);
    for (std::size_t i = 0; i < head_dim_; ++i) keys.row(row)[i] = column[i * kPanel];
    std::copy_n(block + this->values(layer, head) + token * head_dim_, head_dim_, values.row(row));
  }
}

void KVCache::assign(const KVCache& other, std::size_t same, std::size_t tokens) {
  const std::size_t full = tokens / kChunk;
  std::vector<std::pair<std::size_t, KVBlock>> replaced;
  for (std::size_t i = full; i < blocks_.size(); ++i) {
    if (blocks_[i].is_shared()) replaced.emplace_back(i, new_block());
  }
  // Nothing below throws.
  const std::size_t begin = full * kChunk;
  if (!replaced.empty() && replaced.front().first == full) {
    copy_tokens(other, begin, tokens, replaced.front().second.data());
  } else if (full < blocks_.size()) {
    copy_tokens(other, std::max(begin, same), tokens, blocks_[full].data());
  }
  for (std::size_t i = 0; i < full; ++i) set_block(i, other.blocks_[i]);
  for (const auto& [i, block] : replaced) set_block(i, block);
}

void KVCache::copy_tokens(const KVCache& other, std::size_t begin, std::size_t end,
                          float* block) const noexcept {
  if (begin == end) return;
  const float* const from = other.floats_[begin / kChunk];
  const std::size_t count = end - begin;
  const std::size_t first = begin % kChunk;
  for (std::size_t head = 0; head < n_layer_ * n_head_; ++head) {
    for (std::size_t token = first; token < first + count;) {
      const std::size_t columns = std::min(kPanel - token % kPanel, first + count - token);
      const float* const from_keys = from + other.keys(0, head) + key_offset(token);
      float* const to_keys = block + keys(0, head) + key_offset(token);
      for (std::size_t i = 0; i < head_dim_; ++i) {
        std::copy_n(from_keys + i * kPanel, columns, to_keys + i * kPanel);
      }
      token += columns;
    }
    std::copy_n(from + other.values(0, head) + first * head_dim_, count * head_dim_,
                block + values(0, head) + first * head_dim_);
  }
}

void KVCache::set_block(std::size_t i, const KVBlock& block) noexcept {
  blocks_[i] = block;
  floats_[i] = block.data();
}

}  // namespace gpt2
