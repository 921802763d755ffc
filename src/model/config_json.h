#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/file_source.h"
#include "base/json_document.h"
#include "gpt2/config.h"

namespace gpt2 {

/// The most bytes that a config.json or generation_config.json may have.
inline constexpr std::size_t kMaxConfigBytes = 16 << 20;

/// Config::load from any source.
[[nodiscard]] Config load_config(const std::filesystem::path& file, const FileSource& source);

/// The most members that a tree of config_tree can have, after the caller has added to it.
inline constexpr std::size_t kMaxConfigMembers = 20;

/// What Config::to_json writes, as a tree.
[[nodiscard]] JsonDocument<nlohmann::ordered_json> config_tree(const Config& config);

}  // namespace gpt2
