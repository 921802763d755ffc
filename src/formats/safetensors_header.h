#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/dtype.h"
#include "gpt2/tensor.h"

namespace gpt2 {

/// A tensor as the header of a safetensors file describes it; nothing is said yet about whether the
/// description makes sense.
struct SafetensorsEntry {
  std::string name;
  DType dtype;
  Shape shape;
  std::size_t begin;  ///< bytes from the start of the data
  std::size_t end;
};

/// Reads the header's JSON, value by value, into the entries in their order. Throws
/// Error(invalid_file) for another schema, a tensor's name twice, and what goes past the limits of
/// tensor_table.h; `where` begins every message.
[[nodiscard]] std::vector<SafetensorsEntry> read_safetensors_header(std::string_view json,
                                                                    std::string_view where);

}  // namespace gpt2
