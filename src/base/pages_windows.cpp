#include "base/pages.h"

#include <windows.h>

namespace gpt2 {

// Windows gives large pages only to users with a privilege, and only as a whole.
void allow_large_pages(void*, std::size_t) noexcept {}

// To unlock pages that are not locked removes them from the memory of the process; it then fails.
void drop_mapped_pages(const void* begin, std::size_t bytes) noexcept {
  VirtualUnlock(const_cast<void*>(begin), bytes);
}

}  // namespace gpt2
