#include <process.h>

#include "base/process_id.h"

namespace gpt2 {

int process_id() noexcept { return _getpid(); }

}  // namespace gpt2
