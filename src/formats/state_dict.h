#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/pickle.h"
#include "formats/tensor_table.h"

namespace gpt2 {

/// A run of elements that tensors share, as a pickle refers to it. The key points into the pickle.
struct Storage {
  std::string_view key;
  DType dtype;
  std::size_t elements;
  std::size_t bytes;
  Bytes content = {};  ///< the elements; where they lie is not the pickle's to say
};

/// A tensor of a state_dict: element [i, j, ...] is that at offset + i * strides[0] +
/// j * strides[1] + ... of the storage. All indices of the shape lie inside the storage.
struct StoredTensor {
  std::string name;
  Storage storage;
  std::size_t offset;
  Shape shape;
  std::vector<std::size_t> strides;
};

struct StateDict {
  std::vector<StoredTensor> tensors;
  std::vector<std::string> ignored;     ///< the keys of what is no tensor of the model
  std::optional<ModelArgs> model_args;  ///< nanoGPT's
};

/// The tensors of a pickle's root, a dict, or of the dict in that under "model" or "state_dict";
/// the rest is passed over. torch.compile's prefix "_orig_mod." is taken off. Throws
/// Error(invalid_file) for none, one that contradicts itself or its storage, and a key used twice.
[[nodiscard]] StateDict read_state_dict(const Pickle::Value& root, std::string_view where);

/// What a value of kind storage says. Throws Error.
[[nodiscard]] Storage read_storage(const Pickle::Value& storage, std::string_view where);

}  // namespace gpt2
