#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// What the library computes with: instruction sets and threads. Results are the same bits with any
// of them, so that these functions change the speed only. Also tells how much memory is free.
//
// Environment variable: GPT2_ISA names the instruction set to use, for example GPT2_ISA=avx2. It is
// read when it is first needed.

namespace [[gnu::visibility("default")]] gpt2 {

/// The names of the instruction sets that this build has kernels for and this machine can run, the
/// fastest first: "avx512_amx", "avx512", "avx2", "neon_dotprod", "neon". The last is always
/// "scalar", which is plain C++. Asks Linux to let the process use AMX's tile registers if the CPU
/// has them.
[[nodiscard]] std::vector<std::string> available_isas();

/// The name of the instruction set in use: the one that GPT2_ISA names, or else the fastest one.
/// Throws Error(unsupported) if GPT2_ISA names one that is not available; Model::load, Engine,
/// Sampler and LayerNorm throw the same.
[[nodiscard]] std::string_view isa_name();

/// Uses the named instruction set from now on, in the whole process, whatever GPT2_ISA says. Throws
/// Error(unsupported), which names those that are available.
///
/// REQUIRES: no other thread is in a function of this library.
///
/// Example:
///   for (const std::string& isa : available_isas()) {
///     force_isa(isa);  // and measure something
///   }
void force_isa(std::string_view name);

/// The number of threads that a new Engine uses if it is not told otherwise: one for each physical
/// core that the process may use, by its affinity and by the CPU quota of its control group. Two
/// hyperthreads of a core count once. At least 1. Determined once, at the first call.
[[nodiscard]] int thread_count();

/// The bytes that the process can use before the system or its control group runs out of memory: an
/// estimate of this moment, which counts the pages of files that the system can drop. SIZE_MAX if
/// the system does not say.
[[nodiscard]] std::size_t available_memory();

}  // namespace gpt2
