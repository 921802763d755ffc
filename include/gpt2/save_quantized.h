#pragma once

#include <filesystem>
#include <functional>

#include "gpt2/model.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// Writes a model whose weights are int8 or int4 as a directory that Model::load maps without work:
/// model.safetensors, a config.json that says how the weights are quantized, and the files of the
/// tokenizer and generation_config.json from `source`. If `source` has no generation_config.json,
/// its config.json is copied in its place, because older models keep the same keys there. Only this
/// engine reads such a directory.
///
/// `out` is the directory to write; its missing parents are made as well. Writes to a directory
/// beside `out` and renames that at the end, so that `out` is never half-written. Calls `progress`,
/// unless it is empty, with the share of the weights' bytes that are written, before each tensor.
/// If it throws, everything written is removed and the exception passes through: this is how to
/// cancel.
///
/// `source` is the directory, or a file in it, that the model was loaded from.
///
/// Throws Error(invalid_argument) if the model's weights are not quantized or `out` exists already
/// (see require_new_directory), and Error(invalid_file) if reading or writing fails. Nothing is
/// left behind in that case. Cost: writes as many bytes as the weights have.
///
/// Example:
///   const Model quantized = Model::load("models/gpt2-stories", {.dtype = WeightType::int4});
///   save_quantized(quantized, "models/gpt2-stories", "models/gpt2-stories-int4");
void save_quantized(const Model& model, const std::filesystem::path& source,
                    const std::filesystem::path& out,
                    const std::function<void(double share)>& progress = {});

/// Throws what save_quantized would throw for its `out`, so that a program can refuse it before it
/// does long work: Error(invalid_argument) if `out` exists already, even as a link that leads
/// nowhere, or if its name is empty, "." or ".."; Error(invalid_file) if it cannot be made. To find
/// that out, makes the directory under another name beside `out`, and removes it again.
///
/// Example:
///   require_new_directory("models/gpt2-int8");
void require_new_directory(const std::filesystem::path& out);

}  // namespace gpt2
