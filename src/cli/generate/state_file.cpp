#include "cli/generate/state_file.h"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/new_file.h"
#include "base/paths.h"

namespace gpt2::cli {
namespace {

// The first bytes of every file that save_session() writes.
constexpr std::string_view kStateBegin = "gpt2sess";

}  // namespace

void check_state_file(const std::string& file) {
  const std::filesystem::path path = path_of(file);
  static_cast<void>(NewFile(path));  // throws if the file cannot be written
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(path, absent);
  if (absent || bytes == 0) return;
  if (gpt2::text_of(MappedFile(path).bytes()).starts_with(kStateBegin)) return;
  reject(file, " is not the state of a session, so it is not replaced by one: give another file");
}

void save_state(const Session& session, const std::string& file) {
  check_state_file(file);
  save_session(session, path_of(file));
}

}  // namespace gpt2::cli
