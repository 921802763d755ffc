#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "gpt2/tensor.h"
#include "tensor/dtype.h"

namespace gpt2 {

/// A view of a tensor in memory. The elements are little-endian and in row-major order, without
/// padding. They may begin at any address, so they must be read with memcpy or unaligned loads.
struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;  ///< element count * bits_of(dtype) / 8
};

/// The tensors of a file of weights, in the order of their names.
using TensorTable = std::map<std::string, TensorView, std::less<>>;

/// The same in the order of their data.
using TensorList = std::vector<std::pair<std::string, TensorView>>;

/// The members of nanoGPT's "model_args", or of build-nanogpt's GPTConfig, that are whole numbers
/// or booleans: n_layer, n_head, n_embd, block_size, vocab_size and bias (0 or 1).
using ModelArgs = std::map<std::string, std::int64_t, std::less<>>;

/// Those of them without which there is no model.
inline constexpr const char* kSizesOfModelArgs[] = {"n_layer", "n_head", "n_embd", "block_size",
                                                    "vocab_size"};

/// The content of a file of weights.
struct TensorFile {
  TensorTable tensors = {};                           ///< views into the file, or into `copies`
  std::string format = "safetensors";                 ///< the name of the format, for people
  std::vector<std::string> ignored = {};              ///< keys that are not tensors of the model
  std::optional<ModelArgs> model_args = {};           ///< only in files of nanoGPT and its kin
  std::vector<AlignedBuffer<std::byte>> copies = {};  ///< copies of tensors that were not row-major
};

// Limits far above any GPT-2 checkpoint. Files that exceed one are refused.
inline constexpr std::size_t kMaxTensors = 100'000;   ///< in a file, and in all shards together
inline constexpr std::size_t kMaxTensorName = 1'024;  ///< bytes
inline constexpr std::size_t kMaxRank = 8;            ///< dimensions of one tensor

}  // namespace gpt2
