#pragma once

#include "base/platform.h"  // before the headers that other systems lack

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace gpt2 {

/// `count` zeroed elements on a 64-byte boundary, owned; move-only.
///
/// A large buffer is zeroed by the operating system, page by page when a page is first touched: one
/// that is never touched takes no memory. Throws std::bad_alloc.
template <class T>
class AlignedBuffer {
  static_assert(std::is_trivial_v<T>);

 public:
  AlignedBuffer() = default;

  explicit AlignedBuffer(std::size_t count) : size_(count) {
    constexpr std::size_t kAlignment = 64;
    if (count > (SIZE_MAX - kAlignment) / sizeof(T)) throw std::bad_array_new_length();
    std::size_t space = count * sizeof(T) + kAlignment;
    storage_.reset(std::calloc(space, 1));
    if (!storage_) throw std::bad_alloc();
    void* aligned = storage_.get();
    data_ = static_cast<T*>(std::align(kAlignment, count * sizeof(T), aligned, space));
  }

  /// Leaves `other` empty.
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    storage_ = std::move(other.storage_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  /// Lets the system use large pages for memory that is touched for the first time from now on.
  /// They need fewer address translations, but each is zeroed and takes memory as a whole.
  void use_large_pages() const noexcept {
    constexpr std::size_t kPage = std::size_t{1} << 16;  // or a power of two below
    void* begin = data_;
    std::size_t bytes = size_ * sizeof(T);
    if (std::align(kPage, 1, begin, bytes) != nullptr) madvise(begin, bytes, MADV_HUGEPAGE);
  }

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::unique_ptr<void, void (*)(void*)> storage_{nullptr, std::free};
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gpt2
