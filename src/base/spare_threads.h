#pragma once

namespace gpt2 {

/// Returns how many further threads this process can run at the same time, up to `wanted`, with the
/// stacks that OpenMP gives its threads. Finds out by starting that many threads and ending them:
/// when this returns, the system has taken back all that they used. Returns -1 if there is not even
/// memory for a parallel region without further threads. REQUIRES: wanted >= 0.
///
/// OpenMP ends the process if it cannot start a thread of a parallel region. Therefore a region
/// must not ask for more threads than this function has found, and for far fewer if possible,
/// because the rest of the process, and other processes, may start threads meanwhile. Call this on
/// the thread that opens the region, so that the memory which it found free is that thread's.
[[nodiscard]] int spare_threads(int wanted) noexcept;

}  // namespace gpt2
