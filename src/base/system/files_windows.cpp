#include "base/system/files.h"

#include <windows.h>

#include <algorithm>
#include <string>

#include "base/paths.h"
#include "base/system/last_error_windows.h"

namespace gpt2 {
namespace {

HANDLE handle_of(std::intptr_t file) { return reinterpret_cast<HANDLE>(file); }

}  // namespace

// Without FILE_FLAG_BACKUP_SEMANTICS, a directory could not be opened. Others may rename or remove
// the file while it is open, as on other systems.
ReadableFile::ReadableFile(const std::filesystem::path& path) {
  const HANDLE file = CreateFileW(path.c_str(), GENERIC_READ,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) throw FileFailure{"cannot open", last_error()};
  file_ = reinterpret_cast<std::intptr_t>(file);
  if (GetFileType(file) != FILE_TYPE_DISK) return;
  BY_HANDLE_FILE_INFORMATION status;
  if (!GetFileInformationByHandle(file, &status)) {
    const FileFailure failure{"cannot examine", last_error()};
    CloseHandle(file);
    throw failure;
  }
  const bool is_directory = (status.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  kind_ = is_directory ? Kind::directory : Kind::regular;
  size_ = std::uint64_t{status.nFileSizeHigh} << 32 | status.nFileSizeLow;
}

ReadableFile::~ReadableFile() { CloseHandle(handle_of(file_)); }

std::shared_ptr<const void> ReadableFile::map() const {
  const HANDLE mapping =
      CreateFileMappingW(handle_of(file_), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) throw FileFailure{"cannot map", last_error()};
  const void* const address = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  const FileFailure failure{"cannot map", last_error()};
  CloseHandle(mapping);  // the view keeps the mapping
  if (address == nullptr) throw failure;
  return {address, [](const void* mapped) { UnmapViewOfFile(mapped); }};
}

std::size_t ReadableFile::read(std::byte* bytes, std::size_t count, std::uint64_t offset) const {
  constexpr std::size_t kMaxCount = 1 << 30;
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD read = 0;
  if (ReadFile(handle_of(file_), bytes, static_cast<DWORD>(std::min(count, kMaxCount)), &read,
               &place)) {
    return read;
  }
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  throw FileFailure{"cannot read", last_error()};
}

// Windows gives large pages only to users with a privilege, and only as a whole.
void allow_large_pages(void*, std::size_t) noexcept {}

// To unlock pages that are not locked removes them from the memory of the process; it then fails.
void drop_mapped_pages(const void* begin, std::size_t bytes) noexcept {
  VirtualUnlock(const_cast<void*>(begin), bytes);
}

std::filesystem::path path_of(std::string_view text) {
  const int bytes = static_cast<int>(text.size());
  const int length = MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0);
  std::wstring wide(static_cast<std::size_t>(length), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, wide.data(), length);
  return wide;
}

}  // namespace gpt2
