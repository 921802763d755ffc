#include <windows.h>

#include <algorithm>
#include <cstdint>

#include "gpt2/runtime.h"

namespace gpt2 {

// The page file counts, too: without room in it, Windows gives a process no memory.
std::size_t available_memory() {
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof status;
  if (!GlobalMemoryStatusEx(&status)) return SIZE_MAX;
  return static_cast<std::size_t>(std::min(status.ullAvailPhys, status.ullAvailPageFile));
}

}  // namespace gpt2
