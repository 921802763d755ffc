#pragma once

namespace gpt2 {

/// Returns the number of physical cores that the process may use, at least 1. Determined once, at
/// the first call. Unlike thread_count(), does not depend on OMP_NUM_THREADS: if a team has more
/// threads than this, they take turns on the cores.
[[nodiscard]] int core_count();

}  // namespace gpt2
