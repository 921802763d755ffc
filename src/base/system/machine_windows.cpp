#include "base/system/machine.h"

#include <windows.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpt2/runtime.h"

namespace gpt2 {
namespace {

// Windows numbers the CPUs in groups of up to 64.
constexpr std::size_t kGroup = 64;

void add(CpuSet& cpus, const GROUP_AFFINITY& group) {
  for (std::size_t i = 0; i < kGroup; ++i) {
    const std::size_t cpu = kGroup * group.Group + i;
    if ((group.Mask >> i & 1) != 0 && cpu < cpus.size()) cpus.set(cpu);
  }
}

// Returns the CPUs of each core of the machine, or nothing if the system does not say.
std::vector<CpuSet> cores_of_machine() {
  using Record = SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX;
  DWORD bytes = 0;
  GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &bytes);
  std::vector<std::byte> records(bytes);
  const auto record_at = [&](std::size_t at) { return reinterpret_cast<Record*>(&records[at]); };
  std::vector<CpuSet> cores;
  if (bytes == 0 ||
      !GetLogicalProcessorInformationEx(RelationProcessorCore, record_at(0), &bytes)) {
    return cores;
  }
  for (std::size_t at = 0; at < bytes; at += record_at(at)->Size) {
    const PROCESSOR_RELATIONSHIP& core = record_at(at)->Processor;
    CpuSet cpus;
    for (WORD i = 0; i < core.GroupCount; ++i) add(cpus, core.GroupMask[i]);
    cores.push_back(cpus);
  }
  return cores;
}

}  // namespace

CpuSet cpus_of_thread() noexcept {
  CpuSet cpus;
  GROUP_AFFINITY group = {};
  if (GetThreadGroupAffinity(GetCurrentThread(), &group)) add(cpus, group);
  return cpus;
}

int cores_of(const std::vector<int>& cpus) {
  CpuSet usable;
  for (const int cpu : cpus) usable.set(static_cast<std::size_t>(cpu));
  const std::vector<CpuSet> cores = cores_of_machine();
  const auto count =
      std::ranges::count_if(cores, [&](const CpuSet& core) { return (core & usable).any(); });
  return std::max(1, static_cast<int>(cores.empty() ? usable.count() : count));
}

// A job object may have a limit, but its CPU time is a share of a time that Windows does not tell.
double cpu_quota() { return 0.0; }

// Windows 11 has a function that permits it, but nobody has tried the kernels with tiles there.
bool may_use_tiles() noexcept { return false; }

// The page file counts, too: without room in it, Windows gives a process no memory.
std::size_t available_memory() {
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof status;
  if (!GlobalMemoryStatusEx(&status)) return SIZE_MAX;
  return static_cast<std::size_t>(std::min(status.ullAvailPhys, status.ullAvailPageFile));
}

}  // namespace gpt2
