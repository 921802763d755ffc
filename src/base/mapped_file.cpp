#include "base/mapped_file.h"

#include <cstdint>
#include <system_error>

#include "base/aligned_buffer.h"
#include "base/fail.h"
#include "base/paths.h"
#include "base/system/files.h"
#include "base/system/process.h"
#include "base/text.h"

namespace gpt2 {
namespace {

// Returns all bytes of the file.
std::shared_ptr<AlignedBuffer<std::byte>> copy_of(const ReadableFile& file,
                                                  const std::filesystem::path& path) {
  const auto size = static_cast<std::size_t>(file.size());
  auto buffer = std::make_shared<AlignedBuffer<std::byte>>(size);
  for (std::size_t read = 0; read < size;) {
    const std::size_t count = file.read(buffer->data() + read, size - read, read);
    if (count == 0) fail(ErrorCode::invalid_file, path.string(), "another program shortens it");
    read += count;
  }
  return buffer;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, FileAccess access) {
  refuse_nul(path);
  if (const BuiltInFile* const file = find_built_in(path); file && file->begin) {
    *this = MappedFile({file->begin, file->end}, nullptr);
    return;
  }
  try {
    open(path, access);
  } catch (const FileFailure& failure) {
    const bool missing = failure.reason == std::errc::no_such_file_or_directory ||
                         failure.reason == std::errc::not_a_directory;
    fail(missing ? ErrorCode::not_found : ErrorCode::invalid_file,
         concat(failure.what, " ", path.string()), reason_of(failure.reason));
  }
}

void MappedFile::open(const std::filesystem::path& path, FileAccess access) {
  const ReadableFile file(path);
  if (file.kind() == ReadableFile::Kind::directory) {
    throw Error(ErrorCode::invalid_file, path.string() + " is a directory: expected a file");
  }
  if (file.kind() != ReadableFile::Kind::regular) {
    throw Error(ErrorCode::invalid_file, path.string() + " is not a regular file");
  }
  const auto size = static_cast<std::size_t>(file.size());
  if (size != file.size()) throw Error(ErrorCode::invalid_file, path.string() + " is too large");
  if (size == 0) return;
  if (access == FileAccess::copy) {
    const auto buffer = copy_of(file, path);
    bytes_ = {buffer->data(), size};
    mapping_ = buffer;
    is_file_ = false;
    return;
  }
  mapping_ = file.map();
  bytes_ = {static_cast<const std::byte*>(mapping_.get()), size};
}

void MappedFile::drop_pages(Bytes part) const noexcept {
  if (!is_file_) return;  // dropping the pages of anonymous memory would set them to zeros
  const auto address = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
  const std::uintptr_t end = address(part.data()) + part.size();
  if (address(part.data()) < address(bytes_.data())) return;
  if (end > address(bytes_.data()) + bytes_.size()) return;
  drop_mapped_pages(part.data(), part.size());
}

}  // namespace gpt2
