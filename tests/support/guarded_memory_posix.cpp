#include <sys/mman.h>
#include <unistd.h>

#include "support/guarded_memory.h"

namespace gpt2::test {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes) {
  const std::size_t page = page_size();
  const std::size_t size = (bytes + page - 1) / page * page;
  begin_ = static_cast<char*>(
      mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  end_ = begin_ + size;
  mprotect(end_, page, PROT_NONE);
}

GuardedMemory::~GuardedMemory() {
  munmap(begin_, static_cast<std::size_t>(end_ - begin_) + page_size());
}

}  // namespace gpt2::test
