#include "base/cpu_features.h"

namespace gpt2 {

// Windows 11 has a function that permits it, but nobody has tried the kernels with tiles there.
bool may_use_tiles() noexcept { return false; }

}  // namespace gpt2
