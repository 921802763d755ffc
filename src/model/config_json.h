#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "gpt2/config.h"

namespace gpt2 {

/// The bytes of a config.json or generation_config.json at most.
inline constexpr std::size_t kMaxConfigBytes = 16 << 20;

/// What Config::parse reads, all of it.
[[nodiscard]] nlohmann::ordered_json to_json(const Config& config);

}  // namespace gpt2
