#include "base/file_source.h"

#include "base/fail.h"
#include "base/paths.h"

namespace gpt2 {

namespace fs = std::filesystem;

FileSource::FileSource(std::span<const MemoryFile> files) : memory_(std::in_place) {
  for (const MemoryFile& file : files) {
    if (memory_->emplace(file.name, &file).second) continue;
    reject("two files in memory have the name ", quote(file.name), "; expected one of each name");
  }
}

const MemoryFile* FileSource::find(const fs::path& path) const {
  const auto found = memory_->find(path.generic_string());
  return found == memory_->end() ? nullptr : found->second;
}

bool FileSource::has(const fs::path& path) const {
  return is_memory() ? find(path) != nullptr : is_there(path);
}

MappedFile FileSource::open(const fs::path& path) const {
  if (!is_memory()) return MappedFile(path, access_);
  const MemoryFile* const file = find(path);
  if (file != nullptr) return MappedFile(file->bytes, file->owner);
  fail(ErrorCode::not_found, path.string(), "no file of this name among those in memory");
}

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
