#pragma once

#include <cstddef>

namespace gpt2::test {

/// Memory of at least `bytes` bytes that ends right before a page that nobody may read or write.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// The beginning of that page.
  [[nodiscard]] char* end() const noexcept { return end_; }

 private:
  char* begin_;
  char* end_;
};

}  // namespace gpt2::test
