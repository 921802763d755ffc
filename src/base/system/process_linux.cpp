#include "base/system/process.h"

#include <system_error>

namespace gpt2 {

std::filesystem::path program_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

}  // namespace gpt2
