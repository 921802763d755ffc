#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/file_source.h"

namespace gpt2 {

/// Reads a whole text file. Throws Error as FileSource::open does, and Error(invalid_file), before
/// anything is allocated, if it has more than `max_bytes`.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t max_bytes,
                                    const FileSource& source = {});

}  // namespace gpt2
