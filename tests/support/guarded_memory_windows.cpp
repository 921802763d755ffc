#include <windows.h>

#include "support/guarded_memory.h"

namespace gpt2::test {

// The page after the committed ones is only reserved, so that no access to it succeeds.
GuardedMemory::GuardedMemory(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t size = (bytes + kPage - 1) / kPage * kPage;
  begin_ = static_cast<char*>(VirtualAlloc(nullptr, size + kPage, MEM_RESERVE, PAGE_NOACCESS));
  end_ = begin_ + size;
  if (size > 0) VirtualAlloc(begin_, size, MEM_COMMIT, PAGE_READWRITE);
}

GuardedMemory::~GuardedMemory() { VirtualFree(begin_, 0, MEM_RELEASE); }

}  // namespace gpt2::test
