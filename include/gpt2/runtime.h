#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Instruction sets, threads and available memory. Results have the same bits for every instruction
// set and any number of threads, so these functions affect only the speed.
//
// Environment variable: GPT2_ISA names the instruction set to use, for example GPT2_ISA=avx2. The
// library reads it when it first needs an instruction set.

namespace [[gnu::visibility("default")]] gpt2 {

/// Returns the names of the instruction sets for which this build has kernels and which this
/// machine can run, the fastest first: "avx512_amx", "avx512", "avx2", "neon_dotprod", "neon". The
/// last is always "scalar", which is plain C++. If the CPU has AMX, asks Linux to let the process
/// use its tile registers.
[[nodiscard]] std::vector<std::string> available_isas();

/// Returns the name of the instruction set in use: the one that GPT2_ISA names, or else the fastest
/// one. Throws Error(unsupported) if GPT2_ISA names one that is not available; Model::load, Engine,
/// Sampler and LayerNorm throw the same.
[[nodiscard]] std::string_view isa_name();

/// From now on, uses the named instruction set in the whole process, whatever GPT2_ISA says. If it
/// is not available, throws Error(unsupported), which names those that are.
///
/// REQUIRES: no other thread is in a function of this library.
///
/// Example:
///   for (const std::string& isa : available_isas()) {
///     force_isa(isa);  // and measure something
///   }
void force_isa(std::string_view name);

/// Returns the number of threads that a new Engine uses by default: one for each physical core that
/// the affinity of the process and the CPU quota of its control group let it use. Two hyperthreads
/// of a core count once. At least 1. Determined once, at the first call.
[[nodiscard]] int thread_count();

/// Returns an estimate of the number of bytes that the process can currently allocate before the
/// system or the control group of the process runs out of memory. Pages of files that the system
/// can drop count as free. SIZE_MAX if the system does not report it.
[[nodiscard]] std::size_t available_memory();

}  // namespace gpt2
