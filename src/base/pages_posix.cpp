#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/pages.h"

namespace gpt2 {

void drop_mapped_pages(const void* begin, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = address / page * page;
  madvise(reinterpret_cast<void*>(first), address + bytes - first, MADV_DONTNEED);
}

}  // namespace gpt2
