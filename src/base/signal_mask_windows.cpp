#include "base/signal_mask.h"

namespace gpt2 {

// Windows has no signals that a thread could receive.
void start_without_signals(const std::function<void()>& start) { start(); }

}  // namespace gpt2
