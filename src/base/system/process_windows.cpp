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

std::filesystem::path program_file() {
  constexpr std::size_t kMaxPath = 32768;
  std::wstring name(kMaxPath, L'\0');
  name.resize(GetModuleFileNameW(nullptr, name.data(), static_cast<DWORD>(kMaxPath)));
  return name;
}

}  // namespace gpt2
