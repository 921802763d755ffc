#pragma once

#include <filesystem>
#include <string>

#include "gpt2/model.h"

namespace gpt2::cli {

/// Calls find_model() for the model of -m. If the bundled model is not found, the error message
/// advises the user to name another one.
[[nodiscard]] std::filesystem::path model_path(const std::string& name);

/// Model::load for the type of --dtype. Throws UsageError if the model cannot be converted to it.
[[nodiscard]] Model load_as(const std::filesystem::path& path, const LoadOptions& options);

/// Calls load_as(), and shows the progress of the conversion on the terminal if it takes more than
/// a second.
[[nodiscard]] Model load_model(const std::filesystem::path& path, WeightType dtype);

}  // namespace gpt2::cli
