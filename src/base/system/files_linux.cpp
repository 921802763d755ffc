#include "base/system/files.h"

#include <sys/mman.h>

namespace gpt2 {

void allow_large_pages(void* begin, std::size_t bytes) noexcept {
  madvise(begin, bytes, MADV_HUGEPAGE);
}

}  // namespace gpt2
