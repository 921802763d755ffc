#pragma once

#include <filesystem>
#include <functional>

#include "gpt2/model.h"

namespace gpt2 {

/// Writes the model as a directory that Model::load maps without work: model.safetensors with the
/// matrices packed (kernels.h) as U8 tensors [panels, blocks, block bytes], a config.json with the
/// key "gpt2_cpp": {"dtype": "int8"}, and the tokenizer's files and generation_config.json from
/// `source`; where it has only a config.json, that serves as the latter.
///
/// Everything is written beside `directory` first and renamed at the end; an existing one is not
/// touched. `before_each` is called before each tensor: what it throws ends the work, and nothing
/// is left. Throws Error(invalid_argument) where `directory` exists, or the model is not packed;
/// Error where writing fails.
void save_packed(const Model& model, const std::filesystem::path& source,
                 const std::filesystem::path& directory, const std::function<void()>& before_each);

}  // namespace gpt2
