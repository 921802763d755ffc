#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

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

MappedFile::MappedFile(const std::filesystem::path& path) {
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
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (address == MAP_FAILED) fail("cannot map", path, errno);
  mapping_ = {address, [size](void* mapped) { munmap(mapped, size); }};
  bytes_ = {static_cast<const std::byte*>(address), size};
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
