#pragma once

#include <filesystem>

#include "gpt2/model.h"

namespace gpt2::cli {

/// Model::load, which shows on the terminal how much is converted once that takes more than a
/// second.
[[nodiscard]] Model load_model(const std::filesystem::path& path, WeightType dtype);

}  // namespace gpt2::cli
