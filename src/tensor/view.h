#pragma once

#include <cstddef>

#include "gpt2/dtype.h"
#include "gpt2/tensor.h"

namespace gpt2 {

/// A tensor that lies in memory that something else owns: little-endian, row-major, without
/// padding, at any alignment (elements are to be read by memcpy or an unaligned load).
struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;  ///< element count * bits_of(dtype) / 8
};

}  // namespace gpt2
