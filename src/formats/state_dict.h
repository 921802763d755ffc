#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/pickle.h"
#include "formats/tensor_table.h"

namespace gpt2 {

/// A contiguous run of elements that several tensors may share, as a pickle describes it. `key`
/// points into the pickle.
struct Storage {
  std::string_view key;
  DType dtype;
  std::size_t elements;
  std::size_t bytes;
  Bytes content = {};  ///< the elements; set later, because the pickle does not contain them
};

/// A tensor of a state_dict. Its element [i, j, ...] is element offset + i * strides[0] +
/// j * strides[1] + ... of the storage. All its elements lie inside the storage.
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
  std::optional<ModelArgs> model_args;  ///< only in files of nanoGPT and its kin
};

/// Reads the tensors of a state_dict. `root` is the root of a pickle. The state_dict is the dict
/// under the first of the keys "model", "state_dict", "model_state_dict" and "module" (DeepSpeed)
/// that `root` has, or else `root` itself. Ignores all other values. Throws Error(invalid_file) if
/// there is no tensor, if a tensor contradicts itself or its storage, or if a key appears twice;
/// Error(unsupported) if only code could make a tensor.
[[nodiscard]] StateDict read_state_dict(const Pickle::Value& root, std::string_view where);

/// Reads a value of the kind `storage`. Throws Error(invalid_file) if it is not well-formed.
[[nodiscard]] Storage read_storage(const Pickle::Value& storage, std::string_view where);

}  // namespace gpt2
