#include "base/system/process.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>

#include <cstdint>
#include <string>
#include <system_error>

namespace gpt2 {

// The system gives the path as the program was started, which may lead over links (dyld(3)).
std::filesystem::path program_file() {
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  if (_NSGetExecutablePath(path.data(), &size) != 0) return {};
  std::error_code error;
  return std::filesystem::canonical(path.c_str(), error);
}

std::filesystem::path library_file() {
  Dl_info library{};
  std::error_code error;
  if (dladdr(&kHomeVariable, &library) == 0) return {};
  return std::filesystem::canonical(library.dli_fname, error);
}

const BuiltInFile* find_built_in(const std::filesystem::path&) { return nullptr; }

}  // namespace gpt2
