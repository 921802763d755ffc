#include <sys/sysctl.h>

#include "base/cpu_features.h"

namespace gpt2 {

bool may_use_tiles() noexcept { return false; }  // no Mac has a CPU with AMX of x86-64

bool has_dot_products() noexcept {
  int value = 0;
  std::size_t size = sizeof value;
  return sysctlbyname("hw.optional.arm.FEAT_DotProd", &value, &size, nullptr, 0) == 0 && value != 0;
}

}  // namespace gpt2
