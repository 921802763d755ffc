#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/types.h"
#include "kernels/kernels.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// Bytes that several sequences may share, aligned to 64 bytes. A KVBlock is a handle. Its copies
/// refer to the same bytes, and the last copy frees them. A handle is never empty.
///
/// The bytes are not initialized, so that a block takes memory only for bytes that have been
/// written. (If another block had used the memory before, calloc() would have to zero all of it.)
///
/// Any number of threads may read the bytes of a shared block at the same time. A thread may write
/// to a block only if is_shared() has returned false and no other thread uses the handle.
class KVBlock {
 public:
  /// Throws std::bad_alloc.
  explicit KVBlock(std::size_t bytes)
      : owners_(new (::operator new(kHeader + bytes, kAlignment)) Owners(1)) {}

  KVBlock(const KVBlock& other) noexcept : owners_(other.owners_) {
    owners_->fetch_add(1, std::memory_order_relaxed);
  }
  KVBlock& operator=(const KVBlock& other) noexcept {
    KVBlock copy(other);
    std::swap(owners_, copy.owners_);
    return *this;
  }
  ~KVBlock() {
    if (owners_->fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    std::destroy_at(owners_);
    ::operator delete(owners_, kAlignment);
  }

  /// Returns whether other handles refer to the same bytes. If not, every earlier access to the
  /// bytes through another handle happens-before the return. (std::shared_ptr::use_count() does not
  /// guarantee this, so this class does not use a shared_ptr.)
  [[nodiscard]] bool is_shared() const noexcept {
    return owners_->load(std::memory_order_acquire) > 1;
  }

  [[nodiscard]] std::byte* data() const noexcept {
    return reinterpret_cast<std::byte*>(owners_) + kHeader;
  }

 private:
  using Owners = std::atomic<std::size_t>;
  static constexpr std::size_t kHeader = 64;  // a cache line, which holds the number of handles
  static constexpr std::align_val_t kAlignment{kHeader};

  Owners* owners_;  // the bytes follow
};

/// The keys and values of the tokens of one sequence, for every layer and head, as f32 or as f16.
///
/// They lie in blocks. A block has the keys and values of kChunk consecutive tokens, or of as many
/// tokens as the capacity if that is less. For each head, a block has the keys and then the values.
/// The values lie as [token][head_dim]. The keys lie in panels, as [panel][head_dim][kPanel], so
/// that a query is multiplied with kPanel keys at a time (see HeadAttention in kernels.h).
///
/// Caches whose sequences begin with the same tokens can share blocks. A cache that has `tokens`
/// tokens may share its full blocks, which are the first tokens / kChunk. It shares no other block.
/// Therefore it can store the next tokens without allocating anything.
class KVCache {
 public:
  /// Throws std::bad_alloc. REQUIRES: type is not `automatic`.
  KVCache(const Config& config, KVType type, std::size_t capacity);

  /// Returns the bytes that a cache takes if all of its capacity is used and it shares no block.
  [[nodiscard]] static std::size_t bytes(const Config& config, KVType type,
                                         std::size_t capacity) noexcept;

  /// Stores the keys and values of tokens [first, first + rows) for one head. `first` is the number
  /// of tokens that the cache has. keys, values: (rows, head_dim). A cache of f16 rounds them as
  /// described for KVType.
  void store(std::size_t layer, std::size_t head, std::size_t first, ConstMatrix keys,
             ConstMatrix values) noexcept;

  /// Reads the keys and values of the first keys.rows tokens of one head, which the cache has.
  /// keys, values: (rows, head_dim).
  void read(std::size_t layer, std::size_t head, Matrix keys, Matrix values) const noexcept;

  /// Makes this cache contain the first `tokens` tokens of `other`, which is a cache of the same
  /// model and type. REQUIRES: the first `same` tokens of both caches are equal. Shares the full
  /// blocks of `other`. Copies the remaining tokens, except for those that this cache already has
  /// in a block that it does not share. `other` may be this cache, which then drops all tokens but
  /// the first `tokens`.
  ///
  /// Allocates a new block in place of each shared block that this cache may have to write to from
  /// now on. Throws std::bad_alloc, and then changes nothing.
  void assign(const KVCache& other, std::size_t same, std::size_t tokens);

  /// Return the blocks, and the indices in a block at which the keys and the values of a head begin
  /// (see HeadAttention).
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
  [[nodiscard]] KVBlock new_block() const;
  void set_block(std::size_t i, const KVBlock& block) noexcept;
  void copy_tokens(const KVCache& other, std::size_t begin, std::size_t end,
                   std::byte* block) const noexcept;

  // Returns the index of the first number of a token's key, relative to the first key of its head.
  [[nodiscard]] std::size_t key_offset(std::size_t token_of_block) const noexcept {
    return token_of_block / kPanel * kPanel * head_dim_ + token_of_block % kPanel;
  }

  KVType type_;
  std::size_t n_layer_, n_head_, head_dim_, capacity_;
  std::size_t head_keys_, head_values_;  // numbers of one head in a block
  std::vector<KVBlock> blocks_;
  std::vector<const void*> data_;  // the address of each block
};

}  // namespace gpt2
