#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/pickle.h"
#include "formats/tensor_table.h"

namespace gpt2 {

/// A run of elements that tensors may share, as a pickle refers to it. The key points into the
/// pickle.
struct Storage {
  std::string_view key;
  DType dtype;
  std::size_t elements;
  std::size_t bytes;
  Bytes content = {};  ///< the elements, filled in later: a pickle does not say where they lie
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
  std::vector<std::string> ignored;     ///< keys whose values are not tensors of the model
  std::optional<ModelArgs> model_args;  ///< nanoGPT's
};

/// The tensors of a dict: a pickle's root, or the dict that the root has under "model" or
/// "state_dict". Ignores everything else, and removes torch.compile's prefix "_orig_mod.". Throws
/// Error(invalid_file) if there is no tensor, if one contradicts itself or its storage, and for a
/// key that is used twice.
[[nodiscard]] StateDict read_state_dict(const Pickle::Value& root, std::string_view where);

/// Reads a value of kind storage. Throws Error.
[[nodiscard]] Storage read_storage(const Pickle::Value& storage, std::string_view where);

}  // namespace gpt2
