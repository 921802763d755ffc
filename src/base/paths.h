#pragma once

#include <filesystem>

namespace gpt2 {

/// Throws Error(invalid_argument) for a path with a NUL byte. The system would take the NUL for the
/// end of the name, and open another file.
void refuse_nul(const std::filesystem::path& path);

/// Whether there is a file or directory at `path`; symbolic links are followed.
///
/// What is there but out of reach is no absence, and passing over it in silence would read a
/// directory as something that it is not. So this throws Error: not_found for a symbolic link that
/// leads nowhere, invalid_file where the system refuses to look (permission denied, a loop of
/// links). Throws as refuse_nul, too.
[[nodiscard]] bool is_there(const std::filesystem::path& path);

/// The directory that `path` is, or that has the file `path`: any file of a model stands for its
/// directory. Throws Error: as is_there, not_found where there is neither, invalid_file for what is
/// no file either (a pipe, a device).
[[nodiscard]] std::filesystem::path directory_of(const std::filesystem::path& path);

}  // namespace gpt2
