#pragma once

#include <filesystem>
#include <functional>

#include "gpt2/model.h"

namespace gpt2 {

/// The path of a directory to be written, without a slash at its end. Throws
/// Error(invalid_argument) where that exists, be it as a link that leads nowhere, or ends in dots;
/// Error where nothing can be written.
[[nodiscard]] std::filesystem::path new_directory(const std::filesystem::path& out);

/// Writes the model as a directory that Model::load maps without work: model.safetensors with the
/// matrices packed (kernels.h) as U8 tensors [panels, blocks, block bytes], a config.json with the
/// key "gpt2_cpp": {"dtype": "int8"}, and the tokenizer's files and generation_config.json from
/// `source`; where it has only a config.json, that serves as the latter.
///
/// Everything is written beside `out`, a new_directory, first and renamed at the end. `before_each`
/// is called before each tensor: what it throws ends the work, and nothing is left. Throws
/// Error(invalid_argument) where the model is not packed; Error where writing fails.
void save_packed(const Model& model, const std::filesystem::path& source,
                 const std::filesystem::path& out, const std::function<void()>& before_each);

}  // namespace gpt2
