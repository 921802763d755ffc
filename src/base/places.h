#pragma once

#include <filesystem>

namespace gpt2 {

/// Returns the user's home directory, or an empty path if the environment names none.
[[nodiscard]] std::filesystem::path home_directory();

/// Returns the file of the program that this process runs, or an empty path if the system does not
/// say.
[[nodiscard]] std::filesystem::path program_file();

}  // namespace gpt2
