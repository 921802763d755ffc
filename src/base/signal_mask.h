#pragma once

#include <functional>

namespace gpt2 {

/// Calls `start`, which starts threads. They do not receive the signals that are sent to the
/// process, so that only the threads of the host program do. Throws what `start` throws.
///
/// The threads still receive signals that they cause themselves, such as SIGSEGV, and SIGPROF,
/// which profilers use.
void start_without_signals(const std::function<void()>& start);

}  // namespace gpt2
