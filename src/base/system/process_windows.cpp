#define _CRT_RAND_S  // declares rand_s
#include "base/system/process.h"

#include <process.h>
#include <stdlib.h>
#include <windows.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/paths.h"

namespace gpt2 {
namespace {

// Returns the file of the program (null) or of a library.
std::filesystem::path file_of(HMODULE module) {
  constexpr std::size_t kMaxPath = 32768;
  std::wstring name(kMaxPath, L'\0');
  name.resize(GetModuleFileNameW(module, name.data(), static_cast<DWORD>(kMaxPath)));
  return name;
}

}  // namespace

int process_id() noexcept { return _getpid(); }

bool fill_with_random(std::span<std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    unsigned int bits = 0;
    if (rand_s(&bits) != 0) return false;
    const std::size_t count = std::min(bytes.size(), sizeof bits);
    std::memcpy(bytes.data(), &bits, count);
    bytes = bytes.subspan(count);
  }
  return true;
}

const char* const kHomeVariable = "USERPROFILE";

// getenv() would return the value in the code page of the process, which lacks most characters. A
// program that loads the library chooses that code page.
std::filesystem::path path_in_environment(const char* name) {
  const wchar_t* const value = _wgetenv(path_of(name).c_str());
  return value == nullptr ? L"" : value;
}

std::filesystem::path home_directory() { return path_in_environment(kHomeVariable); }

std::filesystem::path program_file() { return file_of(nullptr); }

std::filesystem::path library_file() {
  HMODULE library = nullptr;
  GetModuleHandleExW(
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
      reinterpret_cast<LPCWSTR>(&kHomeVariable), &library);
  return file_of(library);
}

const BuiltInFile* find_built_in(const std::filesystem::path&) { return nullptr; }

}  // namespace gpt2
