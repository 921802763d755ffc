#include <atomic>
#include <cstdlib>
#include <vector>

#include "gpt2/error.h"
#include "gpt2/runtime.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace gpt2 {
namespace {

#if defined(__x86_64__)

constexpr bool has_all(unsigned reg, unsigned bits) { return (reg & bits) == bits; }

// The register sets that the operating system saves and restores (XCR0): without that, code for
// them fails even where the CPU knows it.
unsigned saved_registers() {
  unsigned eax = 0, edx = 0;
  __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return eax;
}

// Linux lets a process use the tile registers, 8 KiB a thread, once it has asked.
bool tiles_permitted() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(2)
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

// Intel SDM volume 2, CPUID leaves 1 and 7; volume 1, section 13.3 for XCR0.
std::vector<const Kernels*> available() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return {kScalarKernels};
  if (!has_all(ecx, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C)) return {kScalarKernels};

  const unsigned saved = saved_registers();
  constexpr unsigned kSse = 1u << 1, kYmm = 1u << 2, kMaskAndZmm = 7u << 5, kTiles = 3u << 17;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return {kScalarKernels};
  if (!has_all(saved, kSse | kYmm) || !has_all(ebx, bit_AVX2)) return {kScalarKernels};

  constexpr unsigned kAvx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  if (!has_all(saved, kMaskAndZmm) || !has_all(ebx, kAvx512) || !has_all(ecx, bit_AVX512VNNI)) {
    return {kAvx2Kernels, kScalarKernels};
  }
  constexpr unsigned kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;  // compilers name them differently
  if (!has_all(edx, kAmxTile | kAmxInt8) || !has_all(saved, kTiles) || !tiles_permitted()) {
    return {kAvx512Kernels, kAvx2Kernels, kScalarKernels};
  }
  return {kAvx512AmxKernels, kAvx512Kernels, kAvx2Kernels, kScalarKernels};
}

#elif defined(__aarch64__)

bool has_dot_product() {
#if defined(__linux__)
  constexpr unsigned long kAsimdDp = 1ul << 20;  // HWCAP_ASIMDDP
  return (getauxval(AT_HWCAP) & kAsimdDp) != 0;
#else
  return true;  // every Apple processor that runs 64-bit macOS
#endif
}

std::vector<const Kernels*> available() {
  if (!has_dot_product()) return {kNeonKernels, kScalarKernels};
  return {kNeonDotprodKernels, kNeonKernels, kScalarKernels};
}

#else

std::vector<const Kernels*> available() { return {kScalarKernels}; }

#endif

const Kernels& find(std::string_view name, std::string_view source) {
  std::string names;
  for (const Kernels* const table : available()) {
    if (table->name == name) return *table;
    names += (names.empty() ? "" : ", ") + std::string(table->name);
  }
  throw Error(ErrorCode::unsupported, std::string(source) + ": instruction set \"" +
                                          std::string(name) +
                                          "\" is not available here; use one of " + names);
}

const Kernels& preferred() {
  const char* const name = std::getenv("GPT2_ISA");
  return name && *name ? find(name, "GPT2_ISA") : *available().front();
}

// The one global of the library: nullptr until somebody asks.
std::atomic<const Kernels*> active{nullptr};

}  // namespace

const Kernels& kernels() {
  const Kernels* table = active.load(std::memory_order_acquire);
  if (!table) {
    table = &preferred();
    active.store(table, std::memory_order_release);
  }
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
