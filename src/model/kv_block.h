#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

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

}  // namespace gpt2
