#pragma once

#include <filesystem>
#include <string>

namespace gpt2::cli {

/// The directory that `model` means:
///
///   - a directory, or a file in it;
///   - a name, looked for in ./models, in the models of this program's installation or source tree
///     and in $GPT2_MODELS;
///   - the name of a model in the HuggingFace cache, with or without its owner ("gpt2" or
///     "openai-community/gpt2") and with or without a revision ("gpt2@main", "gpt2@607a30d...").
///     The cache is $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
///     $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub: the first that is set.
///
/// Throws Error(not_found), which says where it looked.
[[nodiscard]] std::filesystem::path find_model(const std::string& model);

}  // namespace gpt2::cli
