#pragma once

#include <filesystem>
#include <functional>

#include "gpt2/model.h"

namespace gpt2 {

/// The path of a directory that can be written, without a slash at its end. Throws
/// Error(invalid_argument) if it exists already, even as a link that leads nowhere, or if its name
/// is
/// "." or ".."; Error(invalid_file) if its parent cannot be written to.
[[nodiscard]] std::filesystem::path new_directory(const std::filesystem::path& out);

/// Writes the model as a directory that Model::load maps without work: model.safetensors with the
/// matrices packed (kernels.h) as U8 tensors [panels, blocks, block bytes], a config.json with the
/// key "gpt2_cpp": {"dtype": "int8"}, and the tokenizer's files and generation_config.json from
/// `source`. If that has no generation_config.json, its config.json is copied in its place.
///
/// Writes to a directory beside `out`, a new_directory, and renames it at the end, so that `out` is
/// never half-written. `before_each` is called before each tensor; if it throws, everything written
/// is removed and the exception passes through. Throws Error(invalid_argument) if the model is not
/// packed, and Error(invalid_file) if writing fails.
void save_packed(const Model& model, const std::filesystem::path& source,
                 const std::filesystem::path& out, const std::function<void()>& before_each);

}  // namespace gpt2
