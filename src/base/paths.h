#pragma once

#include <filesystem>

namespace gpt2 {

/// Whether there is a file or directory at `path`; symbolic links are followed.
///
/// What is there but out of reach is no absence, and passing over it in silence would read a
/// directory as something that it is not. So this throws Error: not_found for a symbolic link that
/// leads nowhere, invalid_file where the system refuses to look (permission denied, a loop of
/// links).
[[nodiscard]] bool is_there(const std::filesystem::path& path);

}  // namespace gpt2
