#include "base/system/files.h"

namespace gpt2 {

void allow_large_pages(void*, std::size_t) noexcept {}  // pages have 16 KiB, or the system decides

}  // namespace gpt2
