#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "gpt2/config.h"

namespace gpt2 {

/// The most bytes that a config.json or generation_config.json may have.
inline constexpr std::size_t kMaxConfigBytes = 16 << 20;

/// Writes everything that Config::parse reads.
[[nodiscard]] nlohmann::ordered_json to_json(const Config& config);

}  // namespace gpt2
