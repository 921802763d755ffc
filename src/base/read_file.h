#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/file_source.h"

namespace gpt2 {

/// Returns the content of a text file. Throws the errors of FileSource::open. Throws
/// Error(invalid_file) if the file is a git-lfs pointer or has more than `max_bytes` bytes. The
/// size is checked before memory for the content is allocated.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t max_bytes,
                                    const FileSource& source = {});

}  // namespace gpt2
