#pragma once

#include <cstddef>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/kv_type.h"
#include "kernels/kernels.h"
#include "model/kv_block.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// The keys and values of one sequence's tokens, for every layer and head, as f32 or as f16.
///
/// They lie in blocks. A block has those of kChunk consecutive tokens, or, if the capacity is less,
/// of that many. A head's part of a block has its keys and then its values. The values lie as
/// [token][head_dim], and the keys in panels, as [panel][head_dim][kPanel], so that a query is
/// multiplied with kPanel keys at a time (see HeadAttention in kernels.h).
///
/// Caches whose sequences begin alike share the blocks of the common tokens. A cache that has
/// `tokens` tokens may share blocks that are full, which are the first tokens / kChunk, and has all
/// others for itself. Therefore it can store the next tokens without allocating anything.
class KVCache {
 public:
  /// Throws std::bad_alloc. REQUIRES: type is not `automatic`.
  KVCache(const Config& config, KVType type, std::size_t capacity);

  /// The bytes that a cache takes once all of its capacity is used, if it shares no block.
  [[nodiscard]] static std::size_t bytes(const Config& config, KVType type,
                                         std::size_t capacity) noexcept;

  /// Stores the keys and values of tokens first ... first + rows of one head. `first` is the number
  /// of tokens that the cache has. keys, values: (rows, head_dim). A cache of f16 rounds them as
  /// KVType says.
  void store(std::size_t layer, std::size_t head, std::size_t first, ConstMatrix keys,
             ConstMatrix values) noexcept;

  /// Reads the keys and values of the first keys.rows tokens of one head, which the cache has.
  /// keys, values: (rows, head_dim).
  void read(std::size_t layer, std::size_t head, Matrix keys, Matrix values) const noexcept;

  /// Brings this cache to `tokens` tokens, those of `other`, a cache of the same model and type.
  /// The first `same` tokens of the two are equal. Shares the full blocks of `other`, and copies of
  /// the rest only tokens that this cache does not have in a block of its own. `other` may be this
  /// cache, which then forgets all tokens but the first `tokens`.
  ///
  /// Allocates a block for each that this cache shares and has to write to from now on. Throws
  /// std::bad_alloc and then changes nothing.
  void assign(const KVCache& other, std::size_t same, std::size_t tokens);

  /// The blocks, and which of a block's numbers are the first of a head's keys and values (see
  /// HeadAttention).
  [[nodiscard]] const void* const* blocks() const noexcept { return data_.data(); }
  [[nodiscard]] std::size_t keys(std::size_t layer, std::size_t head) const noexcept {
    return (layer * n_head_ + head) * (head_keys_ + head_values_);
  }
  [[nodiscard]] std::size_t values(std::size_t layer, std::size_t head) const noexcept {
    return keys(layer, head) + head_keys_;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] KVType type() const noexcept { return type_; }

 private:
  template <class Number>
  void store_as(std::size_t layer, std::size_t head, std::size_t first, ConstMatrix keys,
                ConstMatrix values) noexcept;
  template <class Number>
  void read_as(std::size_t layer, std::size_t head, Matrix keys, Matrix values) const noexcept;

  [[nodiscard]] KVBlock new_block() const;
  void set_block(std::size_t i, const KVBlock& block) noexcept;
  void copy_tokens(const KVCache& other, std::size_t begin, std::size_t end,
                   std::byte* block) const noexcept;

  // Which number is the first of a token's key, counted from the first of its head's keys.
  [[nodiscard]] std::size_t key_offset(std::size_t token_of_block) const noexcept {
    return token_of_block / kPanel * kPanel * head_dim_ + token_of_block % kPanel;
  }

  KVType type_;
  std::size_t n_layer_, n_head_, head_dim_, capacity_;
  std::size_t head_keys_, head_values_;  // numbers of one head in a block
  std::vector<KVBlock> blocks_;
  std::vector<const void*> data_;  // of each block
};

}  // namespace gpt2
