#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpt2 {

/// The instruction sets this build has kernels for and this machine can run, best first; the last
/// is always "scalar". Results are the same bits on every one. Asks Linux to let the process use
/// AMX's tile registers where the CPU has them.
[[nodiscard]] std::vector<std::string> available_isas();

/// The one in use: the best available, or the environment variable GPT2_ISA's. Throws
/// Error(unsupported) where GPT2_ISA names one that is not available.
[[nodiscard]] std::string_view isa_name();

/// Uses another one from now on, in the whole process. Not while a forward pass runs. Throws
/// Error(unsupported), naming those available.
void force_isa(std::string_view name);

/// Threads a new Session uses unless told otherwise: the physical cores this process may use, by
/// affinity (hyperthread siblings count once) and by cgroup quota. At least 1.
[[nodiscard]] int thread_count();

}  // namespace gpt2
