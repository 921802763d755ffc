#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace gpt2 {

/// Returns the id of this process. A child of fork() has another id than its parent.
[[nodiscard]] int process_id() noexcept;

/// Fills at most 256 bytes with random bits that nobody can predict. Returns false if the system
/// provides none.
[[nodiscard]] bool fill_with_random(std::span<std::byte> bytes) noexcept;

extern const char* const kHomeVariable;

/// Returns the path in an environment variable, or an empty path if the variable is not set.
[[nodiscard]] std::filesystem::path path_in_environment(const char* name);

/// Returns the user's home directory, or an empty path if the environment names none.
[[nodiscard]] std::filesystem::path home_directory();

/// Returns the file of the program that this process runs, or an empty path if the system does not
/// say.
[[nodiscard]] std::filesystem::path program_file();

/// Returns the file of the shared library that contains this function. Returns an empty path, or
/// the program's, if it is linked statically, or if the system does not say.
[[nodiscard]] std::filesystem::path library_file();

/// The directory in which built-in files seem to be. Nothing else can be there, because it is the
/// path of a file on Linux, the only system with such files.
inline constexpr const char* kBuiltInDirectory = "/proc/self/exe";

/// A file or directory that is linked into the program. The array `gpt2_built_in_files`, which the
/// program may define, contains them, and then an element whose path is null. The static command
/// has the bundled model there, and all other programs have nothing (tools/cmake/static.cmake).
struct BuiltInFile {
  const char* path;        ///< below kBuiltInDirectory
  const std::byte* begin;  ///< null for a directory
  const std::byte* end;
};

/// Returns the built-in file or directory of this path, or null.
[[nodiscard]] const BuiltInFile* find_built_in(const std::filesystem::path& path);

}  // namespace gpt2
