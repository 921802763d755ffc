#include <unistd.h>

#include "cli/system/descriptor.h"

namespace gpt2::cli {

bool flush_to_disk(int file) { return fdatasync(file) == 0; }

}  // namespace gpt2::cli
