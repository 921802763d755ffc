#pragma once

#include <string_view>

#include "base/bytes.h"
#include "formats/tensor_table.h"

namespace gpt2 {

/// The tensors of a safetensors file (https://github.com/huggingface/safetensors):
///
///   8 bytes    N, little-endian
///   N bytes    JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
///   the rest   the data, which the tensors cover without a hole or an overlap
///
/// The views point into `file`; nothing is copied. Messages begin with `where`, the path.
///
/// Throws Error(invalid_file) for every file that the reference reader refuses, and for the same
/// reason if there are several. In addition it refuses a name that appears twice in an object of
/// the header, more than kMaxTensors tensors, a name longer than kMaxTensorName, and a rank above
/// kMaxRank.
[[nodiscard]] TensorTable parse_safetensors(Bytes file, std::string_view where);

}  // namespace gpt2
