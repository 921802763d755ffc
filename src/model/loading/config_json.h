#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/file_source.h"
#include "base/json.h"
#include "gpt2/config.h"

namespace gpt2 {

/// The max size of a config.json or generation_config.json in bytes.
inline constexpr std::size_t kMaxConfigBytes = 16 << 20;

/// Like Config::load, but reads the files from `source`.
[[nodiscard]] Config load_config(const std::filesystem::path& file, const FileSource& source);

/// The max number of members in a tree of config_tree(), including those that the caller adds.
inline constexpr std::size_t kMaxConfigMembers = 20;

/// Returns the JSON object that Config::to_json writes.
[[nodiscard]] JsonDocument<nlohmann::ordered_json> config_tree(const Config& config);

}  // namespace gpt2
