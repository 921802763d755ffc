#include "base/system/threads.h"

namespace gpt2 {

// The system allows a process thousands of threads, and takes memory for the stack of a thread only
// when the thread uses it.
int spare_threads(int wanted) noexcept { return wanted; }

}  // namespace gpt2
