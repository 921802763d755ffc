#pragma once

#include <bitset>
#include <vector>

// What the machine has and what of it this process may use. gpt2/runtime.h has available_memory().

namespace gpt2 {

/// A set of CPUs, by the numbers that the system gives them.
using CpuSet = std::bitset<1024>;

/// Returns the CPUs that the calling thread may use, or none if the system does not say.
[[nodiscard]] CpuSet cpus_of_thread() noexcept;

/// Returns the number of physical cores that these CPUs belong to, at least 1. The hyperthreads of
/// a core are CPUs of their own.
[[nodiscard]] int cores_of(const std::vector<int>& cpus);

/// Returns the CPU time that the system allows this process, in cores, or 0 if there is no limit.
/// It may be less than that of the CPUs in the set, for example in a container.
[[nodiscard]] double cpu_quota();

/// x86-64: whether this process may use the tile registers of a CPU that has AMX. Asks the system
/// for the permission. REQUIRES: the CPU has AMX.
[[nodiscard]] bool may_use_tiles() noexcept;

/// AArch64: whether the CPU has the dot product instructions.
[[nodiscard]] bool has_dot_products() noexcept;

}  // namespace gpt2
