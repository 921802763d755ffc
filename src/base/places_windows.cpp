#include "base/places.h"

#include <windows.h>

#include <cstdlib>
#include <string>

namespace gpt2 {

std::filesystem::path home_directory() {
  const wchar_t* const home = _wgetenv(L"USERPROFILE");
  return home == nullptr ? L"" : home;
}

std::filesystem::path program_file() {
  constexpr std::size_t kMaxPath = 32768;
  std::wstring name(kMaxPath, L'\0');
  name.resize(GetModuleFileNameW(nullptr, name.data(), static_cast<DWORD>(kMaxPath)));
  return name;
}

}  // namespace gpt2
