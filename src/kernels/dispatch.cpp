#include <array>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <type_traits>
#include <vector>

#include "base/fail.h"
#include "base/system/machine.h"
#include "gpt2/runtime.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gpt2 {
namespace {

#if defined(__x86_64__)

// The compiler's builtins also check that the operating system saves the registers. For F16C and
// AMX, whose names differ between compilers, these functions read CPUID themselves (Intel SDM
// volume 2, CPUID leaves 1 and 7).
bool has_avx2() noexcept {
  __builtin_cpu_init();
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0 &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#ifdef GPT2_HAS_AVX512

bool has_avx512() noexcept {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

bool has_avx512_amx() noexcept {
  constexpr unsigned kAmx = 1u << 24 | 1u << 25;  // tiles, and int8 in them
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return has_avx512() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & kAmx) == kAmx &&
         may_use_tiles();
}

#endif
#endif

bool has_baseline() noexcept { return true; }

struct InstructionSet {
  const char* name;
  bool (*can_run)() noexcept;
  const Kernels* kernels;
  const NormKernels* norm;
};

// The instruction sets of the architecture, the fastest first.
constexpr InstructionSet kIsas[] = {
#ifdef GPT2_HAS_AVX512
    {"avx512_amx", has_avx512_amx, &kAvx512AmxKernels, &kAvx512Norm},
    {"avx512", has_avx512, &kAvx512Kernels, &kAvx512Norm},
#endif
#if defined(__x86_64__)
    {"avx2", has_avx2, &kAvx2Kernels, &kAvx2Norm},
#elif defined(__aarch64__)
    {"neon_dotprod", has_dot_products, &kNeonDotprodKernels, &kNeonDotprodNorm},
    {"neon", has_baseline, &kNeonKernels, &kNeonNorm},
#elif defined(__wasm_simd128__)
    {"wasm", has_baseline, &kWasmKernels, &kWasmNorm},
#endif
#ifndef __wasm__  // so that the module stays small
    {"scalar", has_baseline, &kScalarKernels, &kScalarNorm},
#endif
};
constexpr std::size_t kNoIsa = std::size(kIsas);

// One column of kIsas as an array. The program contains only these arrays, not kIsas itself. If it
// does not use a family of kernels, the linker can drop that column and all the kernels that the
// column refers to. A reference to kIsas would keep all of them.
template <auto kMember>
constexpr auto kColumn = [] {
  std::array<std::remove_cvref_t<decltype(kIsas[0].*kMember)>, std::size(kIsas)> column{};
  for (std::size_t isa = 0; isa < column.size(); ++isa) column[isa] = kIsas[isa].*kMember;
  return column;
}();
constexpr const auto& kIsaNames = kColumn<&InstructionSet::name>;
constexpr const auto& kCanRun = kColumn<&InstructionSet::can_run>;

// Returns the index of the instruction set of this name, or kNoIsa if it is not available.
std::size_t find(std::string_view name) noexcept {
  for (std::size_t isa = 0; isa < kNoIsa; ++isa) {
    if (kIsaNames[isa] == name && kCanRun[isa]()) return isa;
  }
  return kNoIsa;
}

[[noreturn]] void refuse(std::string_view name, std::string_view source) {
  std::string names;
  for (const std::string& isa : available_isas()) names += concat(names.empty() ? "" : ", ", isa);
  fail(ErrorCode::unsupported, source, "instruction set ", quote(name),
       " is not available here; use one of ", names);
}

// Returns the value of GPT2_ISA, or an empty name if it is not set.
std::string_view wanted_name() noexcept {
  const char* const name = std::getenv("GPT2_ISA");
  return name != nullptr ? name : "";
}

// The index of the instruction set in use, which is kNoIsa until the first call that needs it; and
// whether force_isa() has chosen it, so that GPT2_ISA no longer matters.
std::atomic<std::size_t> chosen{kNoIsa};
std::atomic<bool> is_forced{false};

std::size_t isa_in_use() noexcept {
  std::size_t isa = chosen.load(std::memory_order_acquire);
  if (isa != kNoIsa) return isa;
  isa = find(wanted_name());
  if (isa == kNoIsa) {
    isa = 0;
    while (!kCanRun[isa]()) ++isa;  // the last one, "scalar", always can run
  }
  std::size_t expected = kNoIsa;  // unless another thread has stored its choice by now
  return chosen.compare_exchange_strong(expected, isa) ? isa : expected;
}

// The table of one family of kernels for the instruction set in use. It is nullptr until the first
// call that needs it.
template <auto kFamily>
std::atomic<typename decltype(kColumn<kFamily>)::value_type> active{nullptr};

template <auto kFamily>
const auto& table_in_use() noexcept {
  auto table = active<kFamily>.load(std::memory_order_acquire);
  if (table == nullptr) {
    table = kColumn<kFamily>[isa_in_use()];
    active<kFamily>.store(table, std::memory_order_release);
  }
  return *table;
}

}  // namespace

const Kernels& kernels() noexcept { return table_in_use<&InstructionSet::kernels>(); }
const NormKernels& norm_kernels() noexcept { return table_in_use<&InstructionSet::norm>(); }

void require_isa() {
  const std::string_view wanted = wanted_name();
  if (is_forced || wanted.empty() || find(wanted) != kNoIsa) return;
  refuse(wanted, "GPT2_ISA");
}

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (std::size_t isa = 0; isa < kNoIsa; ++isa) {
    if (kCanRun[isa]()) names.emplace_back(kIsaNames[isa]);
  }
  return names;
}

std::string_view isa_name() {
  require_isa();
  return kIsaNames[isa_in_use()];
}

void force_isa(std::string_view name) {
  const std::size_t isa = find(name);
  if (isa == kNoIsa) refuse(name, "force_isa");
  chosen = isa;
  is_forced = true;
  active<&InstructionSet::kernels>.store(nullptr);  // table_in_use() then looks up the new tables
  active<&InstructionSet::norm>.store(nullptr);
}

}  // namespace gpt2
