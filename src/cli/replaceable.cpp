#include "cli/replaceable.h"

#include <cstdint>
#include <system_error>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/new_file.h"

namespace gpt2::cli {

void require_replaceable(const std::filesystem::path& file, const std::string& kind,
                         const IsKind& is_kind) {
  static_cast<void>(NewFile(file));  // throws if the file cannot be written
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(file, absent);
  if (absent || bytes == 0 || is_kind(file)) return;
  reject(file.string(), " is not ", kind, ", so it is not replaced by one: give another file");
}

IsKind begins_with(std::string_view bytes) {
  return [bytes = std::string(bytes)](const std::filesystem::path& file) {
    return text_of(MappedFile(file).bytes()).starts_with(bytes);
  };
}

}  // namespace gpt2::cli
