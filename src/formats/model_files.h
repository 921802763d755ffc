#pragma once

#include <filesystem>

#include "base/file_source.h"

namespace gpt2 {

/// Which files a model is read from. Decided once, by the names of files alone, before any of them
/// is read, so that no two readers can take a directory for different things.
struct ModelFiles {
  std::filesystem::path path;            ///< as the caller gave it
  std::filesystem::path directory = {};  ///< that path, or its parent where it is a file
  std::filesystem::path weights = {};    ///< of tensors, or an index of shards; empty: none
  bool has_config = false;               ///< whether there is a config.json
  FileSource source = {};                ///< where the files are read from

  [[nodiscard]] std::filesystem::path config() const { return directory / "config.json"; }

  /// nanoGPT's checkpoints (ckpt.pt) describe their model themselves, so they need no config.json.
  [[nodiscard]] bool is_nanogpt() const { return weights.extension() == ".pt"; }
};

/// `path` is a directory or a file in one. A file whose name is that of weights (not of JSON other
/// than an index, and not .txt or .md) is the weights; otherwise they are the first in the directory of
/// model.safetensors, model.safetensors.index.json, pytorch_model.bin, pytorch_model.bin.index.json
/// (HuggingFace's order) and ckpt.pt (nanoGPT's name).
///
/// Throws Error: not_found if `path` does not exist, invalid_file if it is neither a file nor
/// a directory or cannot be examined, unsupported for a GGUF file and for a directory without
/// other weights.
[[nodiscard]] ModelFiles find_model_files(const std::filesystem::path& path);

/// The same for a model in memory, whose files stand for a directory. `path` is "memory" then, and
/// the directory is empty, so that the path of a file is its name.
[[nodiscard]] ModelFiles find_model_files(const FileSource& memory);

}  // namespace gpt2
