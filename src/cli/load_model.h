#pragma once

#include <filesystem>
#include <string>

#include "gpt2/model.h"

namespace gpt2::cli {

/// find_model() for the model of -m. If the bundled model is not found, advises to give another
/// one.
[[nodiscard]] std::filesystem::path model_path(const std::string& name);

/// Model::load for the type of --dtype. Throws UsageError if the model cannot be converted to it.
[[nodiscard]] Model load_as(const std::filesystem::path& path, const LoadOptions& options);

/// load_as(), which shows on the terminal how much is converted once that takes more than a second.
[[nodiscard]] Model load_model(const std::filesystem::path& path, WeightType dtype);

}  // namespace gpt2::cli
