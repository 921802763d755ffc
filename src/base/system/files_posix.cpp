#include "base/system/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/paths.h"

namespace gpt2 {
namespace {

[[noreturn]] void fail_with_errno(const char* what) {
  throw FileFailure{what, {errno, std::generic_category()}};
}

}  // namespace

// Without O_NONBLOCK, opening a pipe would block until a writer opens it.
ReadableFile::ReadableFile(const std::filesystem::path& path)
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_ < 0) fail_with_errno("cannot open");
  struct stat status {};
  if (fstat(static_cast<int>(file_), &status) != 0) {
    const FileFailure failure{"cannot examine", {errno, std::generic_category()}};
    close(static_cast<int>(file_));
    throw failure;
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (S_ISDIR(status.st_mode)) kind_ = Kind::directory;
  if (S_ISREG(status.st_mode)) kind_ = Kind::regular;
}

ReadableFile::~ReadableFile() { close(static_cast<int>(file_)); }

std::shared_ptr<const void> ReadableFile::map() const {
  const auto size = static_cast<std::size_t>(size_);
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, static_cast<int>(file_), 0);
  if (address == MAP_FAILED) fail_with_errno("cannot map");
  return {address, [size](void* mapped) { munmap(mapped, size); }};
}

std::size_t ReadableFile::read(std::byte* bytes, std::size_t count, std::uint64_t offset) const {
  for (;;) {
    const ssize_t read = pread(static_cast<int>(file_), bytes, count, static_cast<off_t>(offset));
    if (read >= 0) return static_cast<std::size_t>(read);
    if (errno != EINTR) fail_with_errno("cannot read");
  }
}

void drop_mapped_pages(const void* begin, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = address / page * page;
  madvise(reinterpret_cast<void*>(first), address + bytes - first, MADV_DONTNEED);
}

std::filesystem::path path_of(std::string_view text) { return text; }

}  // namespace gpt2
