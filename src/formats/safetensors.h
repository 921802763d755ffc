#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "formats/tensor_table.h"

namespace gpt2 {

/// Returns the tensors of a safetensors file (https://github.com/huggingface/safetensors):
///
///   8 bytes    N, little-endian
///   N bytes    JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
///   the rest   the data, which the tensors cover without gaps or overlaps
///
/// The views point into `file`; nothing is copied. Messages begin with `where`, the path.
///
/// Throws Error(invalid_file) for every file that the reference reader refuses. If such a file is
/// wrong in several ways, the message gives the same reason as the reference reader. In addition,
/// throws this error if a name appears twice in an object of the header, if there are more than
/// kMaxTensors tensors, if a name is longer than kMaxTensorName, or if a rank is above kMaxRank.
[[nodiscard]] TensorTable parse_safetensors(Bytes file, std::string_view where);

/// Returns how many bytes the length and the header of a file take that begins like this; 8 if
/// `begin` has not even the length. Throws Error(invalid_file) if no header may be that long.
[[nodiscard]] std::size_t safetensors_header_size(Bytes begin, std::string_view where);

/// Returns the tensors of a file of which only the length and the header are there, without their
/// data. Throws like parse_safetensors().
[[nodiscard]] TensorList parse_safetensors_header(Bytes head, std::string_view where);

/// Returns the length and the header of a file with these tensors, whose data follow it in this
/// order. They begin at a multiple of 8 bytes.
[[nodiscard]] std::string safetensors_header(const TensorList& tensors);

}  // namespace gpt2
