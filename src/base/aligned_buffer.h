#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/system/files.h"

namespace gpt2 {

/// An array of `count` zero-initialized elements that begins at a multiple of 64 bytes. It owns its
/// memory and can be moved, but not copied.
///
/// The operating system zeroes each page of a large buffer when the page is first touched, so pages
/// that are never touched take no memory. The constructor throws std::bad_alloc if there is not
/// enough memory.
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

  /// Allows the system to use large pages for the parts of this buffer that have not been touched
  /// yet; see allow_large_pages().
  void use_large_pages() const noexcept {
    constexpr std::size_t kPage = std::size_t{1} << 16;  // a multiple of the page size
    void* begin = data_;
    std::size_t bytes = size_ * sizeof(T);
    if (std::align(kPage, 1, begin, bytes) != nullptr) allow_large_pages(begin, bytes);
  }

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::unique_ptr<void, void (*)(void*)> storage_{nullptr, std::free};
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gpt2
