#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Instruction sets, threads and available memory. Results have the same bits for every instruction
// set and any number of threads, so these functions affect only the speed.
//
// Environment variables: GPT2_ISA names the instruction set to use, for example GPT2_ISA=avx2. The
// library reads it when it first needs an instruction set. OpenMP starts the threads of an engine,
// so OpenMP's variables apply to them: OMP_NUM_THREADS is the number of threads of an engine that
// does not ask for another one, OMP_THREAD_LIMIT the max number of threads of any engine, and
// OMP_PLACES and OMP_PROC_BIND bind the threads to CPUs. OpenMP reads them when the program starts.

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

/// Returns the number of threads that a new Engine uses by default: the number in OMP_NUM_THREADS,
/// up to 1,024. Without that variable, one for each physical core that the process may use: those
/// of available_cpus(), as far as the CPU quota of its control groups suffices. Two hyperthreads of
/// a core count once. In both cases at most OMP_THREAD_LIMIT, and at least 1. Determined once, at
/// the first call.
[[nodiscard]] int thread_count();

/// Returns what determines thread_count(): "OMP_NUM_THREADS", "OMP_THREAD_LIMIT" or "cores".
[[nodiscard]] std::string_view thread_count_source();

/// Returns the numbers of the CPUs that the process may use, in ascending order: those of OpenMP's
/// places if OMP_PLACES or OMP_PROC_BIND makes OpenMP bind threads to places, or else those in the
/// affinity of the calling thread.
[[nodiscard]] std::vector<int> available_cpus();

/// Returns, for each thread of an engine with thread_count() threads, the numbers of the CPUs that
/// it may run on. The first thread is the calling thread. Unless OpenMP binds threads to places,
/// the others may run where this one may. If the system cannot start that many threads, the list is
/// shorter.
///
/// Cost: starts such threads, asks each of them and ends them. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::vector<int>> thread_cpus();

/// Returns an estimate of the number of bytes that the process can currently allocate before the
/// system or the control group of the process runs out of memory. Pages of files that the system
/// can drop count as free. SIZE_MAX if the system does not report it.
[[nodiscard]] std::size_t available_memory();

}  // namespace gpt2
