#pragma once

#include <bitset>
#include <vector>

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

}  // namespace gpt2
