#include "base/cpu_features.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace gpt2 {

#if defined(__x86_64__)

// Without the permission, the instructions of the tiles fail, because the registers make the state
// that Linux saves for a thread 8 KiB larger.
bool may_use_tiles() noexcept {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(2)
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#elif defined(__aarch64__)

bool has_dot_products() noexcept {
  constexpr unsigned long kAsimdDp = 1ul << 20;  // HWCAP_ASIMDDP: the dot product instructions
  return (getauxval(AT_HWCAP) & kAsimdDp) != 0;
}

#endif

}  // namespace gpt2
