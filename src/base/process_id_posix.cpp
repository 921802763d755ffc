#include <unistd.h>

#include "base/process_id.h"

namespace gpt2 {

int process_id() noexcept { return getpid(); }

}  // namespace gpt2
