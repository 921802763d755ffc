#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
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

/// A list that needs no memory from the heap, because kernels() must not throw.
struct Tables {
  const Kernels* best_first[4];

  [[nodiscard]] const Kernels* const* begin() const noexcept { return best_first; }
  [[nodiscard]] const Kernels* const* end() const noexcept {
    return std::find(best_first, std::end(best_first), nullptr);
  }
};

#if defined(__x86_64__)

// Asks Linux for permission to use the tile registers. Without it their instructions fail, because
// the registers make the state that Linux saves for a thread 8 KiB larger.
bool tiles_permitted() noexcept {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(2)
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// The compiler's builtins also check that the operating system saves the registers. For F16C and
// AMX, whose names differ between compilers, this reads CPUID itself (Intel SDM volume 2, CPUID
// leaves 1 and 7).
Tables available() noexcept {
  __builtin_cpu_init();
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
  if (!has_f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return {{kScalarKernels}};
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512vnni")) {
    return {{kAvx2Kernels, kScalarKernels}};
  }
  constexpr unsigned kAmx = 1u << 24 | 1u << 25;  // tiles, and int8 in them
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & kAmx) != kAmx ||
      !tiles_permitted()) {
    const bool is_zen = __builtin_cpu_is("amd");
    return {{is_zen ? kAvx512ZenKernels : kAvx512Kernels, kAvx2Kernels, kScalarKernels}};
  }
  return {{kAvx512AmxKernels, kAvx512Kernels, kAvx2Kernels, kScalarKernels}};
}

#elif defined(__aarch64__)

Tables available() noexcept {
  constexpr unsigned long kAsimdDp = 1ul << 20;  // HWCAP_ASIMDDP: the dot product instructions
  if ((getauxval(AT_HWCAP) & kAsimdDp) == 0) return {{kNeonKernels, kScalarKernels}};
  return {{kNeonDotprodKernels, kNeonKernels, kScalarKernels}};
}

#else

Tables available() noexcept { return {{kScalarKernels}}; }

#endif

// Returns the table of this name, or nullptr if it is not available.
const Kernels* find(std::string_view name) noexcept {
  for (const Kernels* const table : available()) {
    if (table->name == name) return table;
  }
  return nullptr;
}

[[noreturn]] void refuse(std::string_view name, std::string_view source) {
  std::string names;
  for (const Kernels* const table : available()) {
    names += concat(names.empty() ? "" : ", ", table->name);
  }
  fail(ErrorCode::unsupported, source, "instruction set ", quote(name),
       " is not available here; use one of ", names);
}

// Returns the value of GPT2_ISA, or an empty name if it is not set.
std::string_view wanted_name() noexcept {
  const char* const name = std::getenv("GPT2_ISA");
  return name != nullptr ? name : "";
}

// The table in use, which is nullptr until the first call that needs it; and whether force_isa()
// has chosen it, so that GPT2_ISA no longer matters.
std::atomic<const Kernels*> active{nullptr};
std::atomic<bool> is_forced{false};

}  // namespace

const Kernels& kernels() noexcept {
  const Kernels* table = active.load(std::memory_order_acquire);
  if (table) return *table;
  table = find(wanted_name());
  if (table == nullptr) table = *available().begin();
  const Kernels* expected = nullptr;  // another thread, or force_isa(), may be faster
  active.compare_exchange_strong(expected, table, std::memory_order_acq_rel);
  return expected ? *expected : *table;
}

void require_isa() {
  const std::string_view wanted = wanted_name();
  if (is_forced || wanted.empty() || find(wanted)) return;
  refuse(wanted, "GPT2_ISA");
}

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const Kernels* const table : available()) names.emplace_back(table->name);
  return names;
}

std::string_view isa_name() {
  require_isa();
  return kernels().name;
}

void force_isa(std::string_view name) {
  const Kernels* const table = find(name);
  if (table == nullptr) refuse(name, "force_isa");
  active.store(table, std::memory_order_release);
  is_forced = true;
}

}  // namespace gpt2
