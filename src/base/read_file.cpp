#include "base/read_file.h"

#include "base/fail.h"

namespace gpt2 {

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes,
                      const FileSource& source) {
  const MappedFile file = source.open(path);
  const std::string_view text = text_of(file.bytes());
  if (text.starts_with("version https://git-lfs")) {
    fail(path.string(), "a git-lfs pointer in place of the file; fetch it with 'git lfs pull'");
  }
  if (text.size() > max_bytes) {
    fail(path.string(), text.size(), " bytes; expected at most ", max_bytes);
  }
  return std::string(text);
}

}  // namespace gpt2
