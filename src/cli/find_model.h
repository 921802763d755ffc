#pragma once

#include <filesystem>
#include <string>

namespace gpt2::cli {

/// Where a model is.
struct ModelPath {
  std::filesystem::path directory;
  std::filesystem::path weights;  ///< the directory, or the file in it that was asked for
};

/// What `model` means:
///
///   - a directory, or a file of weights or a config.json in it;
///   - a name, looked for in ./models, in the models of this program's installation or source tree
///     and in $GPT2_MODELS;
///   - the name of a model in the HuggingFace cache, with or without its owner ("gpt2" or
///     "openai-community/gpt2") and with or without a revision ("gpt2@main", "gpt2@607a30d...").
///     The cache is $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
///     $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub: the first that is set.
///
/// The first of these that has a config.json or nanoGPT's ckpt.pt wins, so a directory of the same
/// name without a model does not hide it.
///
/// Throws Error(not_found), which says where it looked, or Error(invalid_file) for something of
/// that name that cannot be read: no permission, a link to nothing, a device.
[[nodiscard]] ModelPath find_model(const std::string& model);

}  // namespace gpt2::cli
