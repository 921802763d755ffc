#include <fcntl.h>
#include <unistd.h>

#include "cli/system/descriptor.h"

namespace gpt2::cli {

// fsync() leaves the bytes in the cache of the disk. Not all file systems know F_FULLFSYNC.
bool flush_to_disk(int file) { return fcntl(file, F_FULLFSYNC) == 0 || fsync(file) == 0; }

}  // namespace gpt2::cli
