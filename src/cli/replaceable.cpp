#include "cli/replaceable.h"

#include <cstdint>
#include <system_error>

#include "base/fail.h"
#include "base/new_file.h"

namespace gpt2::cli {

void require_replaceable(const std::filesystem::path& file, const std::string& kind,
                         const std::function<bool(const std::filesystem::path&)>& is_kind) {
  static_cast<void>(NewFile(file));  // throws if the file cannot be written
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(file, absent);
  if (absent || bytes == 0 || is_kind(file)) return;
  reject(file.string(), " is not ", kind, ", so it is not replaced by one: give another file");
}

void check_state_file(const std::filesystem::path& file) {
  require_replaceable(file, "the state of a session", is_session_file);
}

void save_state(const Session& session, const std::filesystem::path& file) {
  check_state_file(file);
  save_session(session, file);
}

}  // namespace gpt2::cli
