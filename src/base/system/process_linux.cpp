#include "base/system/process.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstdint>
#include <system_error>

// Its address is null if the program does not define it.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] const gpt2::BuiltInFile gpt2_built_in_files[];

namespace gpt2 {
namespace {

std::filesystem::path find_library_file() {
  constexpr std::uintptr_t kMaxHeaders = 4096;
  Dl_info library{};
  if (dladdr(&kHomeVariable, &library) == 0) return {};
  // The program headers are at the beginning of a file. If they are those of the program, the name
  // is argv[0], which may be anything.
  const auto begin = reinterpret_cast<std::uintptr_t>(library.dli_fbase);
  if (getauxval(AT_PHDR) - begin < kMaxHeaders) return {};
  std::error_code error;
  return std::filesystem::canonical(library.dli_fname, error);
}

// Found when the library is loaded, because its name may be relative to the working directory.
const std::filesystem::path kLibraryFile = find_library_file();

}  // namespace

std::filesystem::path program_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::filesystem::path library_file() { return kLibraryFile; }

const BuiltInFile* find_built_in(const std::filesystem::path& path) {
  const BuiltInFile* file = gpt2_built_in_files;
  while (file != nullptr && file->path != nullptr && path != file->path) ++file;
  return file != nullptr && file->path != nullptr ? file : nullptr;
}

}  // namespace gpt2
