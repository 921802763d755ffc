#include "model/kv_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace gpt2 {
namespace {

using Half = std::uint16_t;  // the bits of an f16

// Keys are written to their panels, and read from them, in pieces of this many numbers.
constexpr std::size_t kPiece = 64;

void convert(float* to, const float* from, std::size_t n) noexcept { std::copy_n(from, n, to); }
void convert(Half* to, const float* from, std::size_t n) noexcept {
  kernels().narrow_f16(to, from, n);
}
void convert(float* to, const Half* from, std::size_t n) noexcept {
  kernels().widen_f16(to, from, n);
}

// Calls f(number) with a number of this type.
template <class F>
void with_number(KVType type, const F& f) noexcept {
  type == KVType::f16 ? f(Half()) : f(0.0f);
}

}  // namespace

KVCache::KVCache(const Config& config, KVType type, std::size_t capacity)
    : type_(type),
      n_layer_(config.n_layer),
      n_head_(config.n_head),
      head_dim_(config.head_dim()),
      capacity_(capacity),
      head_keys_(round_up(std::min(capacity, kChunk), kPanel) * head_dim_),
      head_values_(std::min(capacity, kChunk) * head_dim_) {
  const std::size_t count = ceil_div(capacity, kChunk);
  blocks_.reserve(count);
  data_.reserve(count);
  while (blocks_.size() < count) {
    blocks_.push_back(new_block());
    data_.push_back(blocks_.back().data());
  }
}

KVBlock KVCache::new_block() const {
  return KVBlock(n_layer_ * n_head_ * (head_keys_ + head_values_) * bytes_of(type_));
}

std::size_t KVCache::bytes(const Config& config, KVType type, std::size_t capacity) noexcept {
  return config.n_layer * config.n_embd * (round_up(capacity, kPanel) + capacity) * bytes_of(type);
}

void KVCache::store(std::size_t layer, std::size_t head, std::size_t first, ConstMatrix keys,
                    ConstMatrix values) noexcept {
  with_number(type_, [&]<class Number>(Number) {
    for (std::size_t row = 0; row < keys.rows; ++row) {
      auto* const block = reinterpret_cast<Number*>(blocks_[(first + row) / kChunk].data());
      const std::size_t token = (first + row) % kChunk;
      Number* const column = block + this->keys(layer, head) + key_offset(token);
      for (std::size_t i = 0; i < head_dim_; i += kPiece) {
        Number piece[kPiece];
        const std::size_t count = std::min(kPiece, head_dim_ - i);
        convert(piece, keys.row(row) + i, count);
        for (std::size_t j = 0; j < count; ++j) column[(i + j) * kPanel] = piece[j];
      }
      convert(block + this->values(layer, head) + token * head_dim_, values.row(row), head_dim_);
    }
  });
}

void KVCache::read(std::size_t layer, std::size_t head, Matrix keys, Matrix values) const noexcept {
  with_number(type_, [&]<class Number>(Number) {
    for (std::size_t row = 0; row < keys.rows; ++row) {
      const auto* const block = static_cast<const Number*>(data_[row / kChunk]);
      const std::size_t token = row % kChunk;
      const Number* const column = block + this->keys(layer, head) + key_offset(token);
      for (std::size_t i = 0; i < head_dim_; i += kPiece) {
        Number piece[kPiece];
        const std::size_t count = std::min(kPiece, head_dim_ - i);
        for (std::size_t j = 0; j < count; ++j) piece[j] = column[(i + j) * kPanel];
        convert(keys.row(row) + i, piece, count);
      }
      convert(values.row(row), block + this->values(layer, head) + token * head_dim_, head_dim_);
    }
  });
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
                          std::byte* block) const noexcept {
  if (begin == end) return;
  const std::size_t bytes = bytes_of(type_);
  const std::byte* const from = other.blocks_[begin / kChunk].data();
  // Copies numbers from the block of `other` to `block`.
  const auto copy = [&](std::size_t from_number, std::size_t to_number, std::size_t numbers) {
    std::memcpy(block + to_number * bytes, from + from_number * bytes, numbers * bytes);
  };
  const std::size_t count = end - begin;
  const std::size_t first = begin % kChunk;
  for (std::size_t head = 0; head < n_layer_ * n_head_; ++head) {
    for (std::size_t token = first; token < first + count;) {
      const std::size_t columns = std::min(kPanel - token % kPanel, first + count - token);
      for (std::size_t i = 0; i < head_dim_; ++i) {
        const std::size_t at = key_offset(token) + i * kPanel;
        copy(other.keys(0, head) + at, keys(0, head) + at, columns);
      }
      token += columns;
    }
    const std::size_t at = first * head_dim_;
    copy(other.values(0, head) + at, values(0, head) + at, count * head_dim_);
  }
}

void KVCache::set_block(std::size_t i, const KVBlock& block) noexcept {
  blocks_[i] = block;
  data_[i] = block.data();
}

}  // namespace gpt2
