#pragma once

#include <filesystem>

namespace gpt2 {

/// The environment variable that names the user's home directory.
extern const char* const kHomeVariable;

/// Returns the path in an environment variable, or an empty path if the variable is not set.
[[nodiscard]] std::filesystem::path path_in_environment(const char* name);

/// Returns the user's home directory, or an empty path if the environment names none.
[[nodiscard]] std::filesystem::path home_directory();

/// Returns the path with the home directory in place of a "~" that stands before its first slash.
/// Returns an empty path if there is such a "~" and no home directory.
[[nodiscard]] std::filesystem::path with_home(const std::filesystem::path& path);

/// Returns the file of the program that this process runs, or an empty path if the system does not
/// say.
[[nodiscard]] std::filesystem::path program_file();

}  // namespace gpt2
