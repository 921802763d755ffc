#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/aligned_buffer.h"
#include "base/fail.h"
#include "base/paths.h"

namespace gpt2 {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& path, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  gpt2::fail(missing ? ErrorCode::not_found : ErrorCode::invalid_file,
             concat(what, " ", path.string()), std::generic_category().message(error));
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, FileAccess access) {
  refuse_nul(path);
  // Without O_NONBLOCK, opening a pipe would block until a writer opens it.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail("cannot open", path, errno);
  const auto close_file = [](const int* descriptor) { close(*descriptor); };
  const std::unique_ptr<const int, decltype(close_file)> closing(&file, close_file);
  struct stat status {};
  if (fstat(file, &status) != 0) fail("cannot examine", path, errno);
  if (S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::invalid_file, path.string() + " is a directory: expected a file");
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::invalid_file, path.string() + " is not a regular file");
  }
  if (status.st_size == 0) return;
  static_assert(sizeof(std::size_t) >= sizeof status.st_size, "files may be larger than memory");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (access == FileAccess::copy) {
    copy(file, size, path);
    return;
  }
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (address == MAP_FAILED) fail("cannot map", path, errno);
  mapping_ = {address, [size](void* mapped) { munmap(mapped, size); }};
  bytes_ = {static_cast<const std::byte*>(address), size};
}

void MappedFile::copy(int file, std::size_t size, const std::filesystem::path& path) {
  const auto buffer = std::make_shared<AlignedBuffer<std::byte>>(size);
  for (std::size_t read = 0; read < size;) {
    const ssize_t count = pread(file, buffer->data() + read, size - read, static_cast<off_t>(read));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot read", path, errno);
    if (count == 0)
      gpt2::fail(ErrorCode::invalid_file, path.string(), "another program shortens it");
    read += static_cast<std::size_t>(count);
  }
  bytes_ = {buffer->data(), size};
  mapping_ = buffer;
  is_file_ = false;
}

void MappedFile::drop_pages(Bytes part) const noexcept {
  if (!is_file_) return;  // MADV_DONTNEED would set anonymous memory to zeros
  const auto address = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
  const std::uintptr_t end = address(part.data()) + part.size();
  if (address(part.data()) < address(bytes_.data())) return;
  if (end > address(bytes_.data()) + bytes_.size()) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = address(part.data()) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace gpt2
