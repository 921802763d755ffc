#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace gpt2::test {

/// Options for writing a ckpt.pt.
struct NanoGpt {
  std::string prefix = "_orig_mod.";
  std::size_t vocab_size = 0;  ///< if larger than the source's, padding with rows of zeros
  bool bias = true;
  bool zero_bias = false;
  std::string without = {};  ///< a key of model_args to leave out
};

/// Returns the bytes of a ckpt.pt as nanoGPT's train.py saves it, with the weights of a HuggingFace
/// directory. These must be F32 and tied, and have the names of GPT2LMHeadModel.
std::string nanogpt_file(const std::filesystem::path& huggingface, const NanoGpt& nano = {});

}  // namespace gpt2::test
