#include "base/paths.h"

#include <system_error>

#include "base/fail.h"

namespace gpt2 {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  // Nothing can have a name that is too long.
  if (type == fs::file_type::not_found || error == std::errc::filename_too_long) {
    if (!fs::is_symlink(fs::symlink_status(path, error))) return false;
    fail(ErrorCode::not_found, path.string(), "a symbolic link that leads nowhere, to ",
         quote(fs::read_symlink(path, error).string(), 4096));
  }
  if (type == fs::file_type::none) fail(path.string(), "cannot be examined: ", error.message());
  return true;
}

}  // namespace gpt2
