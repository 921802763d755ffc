#include <atomic>
#include <cstdlib>
#include <vector>

#include "base/fail.h"
#include "gpt2/runtime.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace gpt2 {
namespace {

#if defined(__x86_64__)

// Linux lets a process use the tile registers, 8 KiB a thread, once it has asked.
bool tiles_permitted() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(2)
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// The compiler's builtins look at what the operating system saves, too. They do not know F16C and
// AMX by one name everywhere: Intel SDM volume 2, CPUID leaves 1 and 7.
std::vector<const Kernels*> available() {
  __builtin_cpu_init();
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
  if (!has_f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return {kScalarKernels};
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512vnni")) {
    return {kAvx2Kernels, kScalarKernels};
  }
  constexpr unsigned kAmx = 1u << 24 | 1u << 25;  // tiles, and int8 in them
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & kAmx) != kAmx ||
      !tiles_permitted()) {
    return {kAvx512Kernels, kAvx2Kernels, kScalarKernels};
  }
  return {kAvx512AmxKernels, kAvx512Kernels, kAvx2Kernels, kScalarKernels};
}

#elif defined(__aarch64__)

std::vector<const Kernels*> available() {
  constexpr unsigned long kAsimdDp = 1ul << 20;  // HWCAP_ASIMDDP: the dot product instructions
  if ((getauxval(AT_HWCAP) & kAsimdDp) == 0) return {kNeonKernels, kScalarKernels};
  return {kNeonDotprodKernels, kNeonKernels, kScalarKernels};
}

#else

std::vector<const Kernels*> available() { return {kScalarKernels}; }

#endif

const Kernels& find(std::string_view name, std::string_view source) {
  std::string names;
  for (const Kernels* const table : available()) {
    if (table->name == name) return *table;
    names += concat(names.empty() ? "" : ", ", table->name);
  }
  fail(ErrorCode::unsupported, source, "instruction set ", quote(name),
       " is not available here; use one of ", names);
}

// The one global of the library: nullptr until somebody asks.
std::atomic<const Kernels*> active{nullptr};

}  // namespace

const Kernels& kernels() {
  const Kernels* table = active.load(std::memory_order_acquire);
  if (table) return *table;
  const char* const name = std::getenv("GPT2_ISA");
  table = name && *name ? &find(name, "GPT2_ISA") : available().front();
  active.store(table, std::memory_order_release);
  return *table;
}

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const Kernels* const table : available()) names.emplace_back(table->name);
  return names;
}

std::string_view isa_name() { return kernels().name; }

void force_isa(std::string_view name) {
  active.store(&find(name, "force_isa"), std::memory_order_release);
}

}  // namespace gpt2
