#pragma once

#include <filesystem>
#include <functional>

#include "gpt2/model.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// Writes a model whose weights are int8 or int4 to a new directory, which Model::load can map
/// without converting anything. The directory has model.safetensors, a config.json that records the
/// type of quantization, and copies of generation_config.json and the tokenizer's files from
/// `source`. If `source` has no generation_config.json, its config.json is copied in its place,
/// because older models keep the same keys there. Only this engine reads such a directory.
///
/// `out` is the directory to write; missing parent directories are created. The files are written
/// to a temporary directory next to `out`, which is renamed at the end, so that `out` is never
/// incomplete. Calls `progress`, unless it is empty, before each tensor with the share of the
/// weights' bytes that have been written. To cancel, throw an exception from `progress`: everything
/// written is removed, and the exception reaches the caller.
///
/// `source` is the directory, or a file in it, that the model was loaded from.
///
/// Throws Error(invalid_argument) if the model's weights are not quantized or `out` exists already
/// (see require_new_directory), and Error(invalid_file) if reading or writing fails. In either
/// case, no files are left behind. Cost: writes as many bytes as the weights take.
///
/// Example:
///   const Model quantized = Model::load("models/gpt2-stories", {.dtype = WeightType::int4});
///   save_quantized(quantized, "models/gpt2-stories", "models/gpt2-stories-int4");
void save_quantized(const Model& model, const std::filesystem::path& source,
                    const std::filesystem::path& out,
                    const std::function<void(double share)>& progress = {});

/// Throws the error that save_quantized() would throw because of `out`, so that a program can check
/// the directory before long work: Error(invalid_argument) if `out` exists already, even as a
/// dangling symbolic link, or if its name is empty, "." or ".."; Error(invalid_file) if it cannot
/// be created. To find out, creates a directory with another name next to `out` and removes it
/// again.
///
/// Example:
///   require_new_directory("models/gpt2-int8");
void require_new_directory(const std::filesystem::path& out);

}  // namespace gpt2
