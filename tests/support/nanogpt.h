#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace gpt2::test {

/// How a ckpt.pt is written.
struct NanoGpt {
  std::string prefix = "_orig_mod.";
  std::size_t vocab_size = 0;  ///< more than the source's: rows of zeros, as 50257 become 50304
  bool bias = true;
  bool zero_bias = false;
  std::string without = {};  ///< a key of model_args
};

/// The bytes of a ckpt.pt as nanoGPT's train.py saves it, of the weights of a HuggingFace directory
/// (F32, with the names of GPT2LMHeadModel, tied).
std::string nanogpt_file(const std::filesystem::path& huggingface, const NanoGpt& nano = {});

}  // namespace gpt2::test
