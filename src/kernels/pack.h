#pragma once

#include <cstddef>

// Weights into the packed panels of kernels.h, and back. Plain C++ with one answer everywhere;
// thread-safe; work is shared out by panels.

namespace gpt2 {

/// A weight matrix as a file has it.
struct StoredMatrix {
  const std::byte* data;
  std::size_t element_size;                                        ///< bytes
  void (*widen)(float* y, const void* x, std::size_t n) noexcept;  ///< of the kernel table
  std::size_t k, n;
  bool k_major;  ///< [k, n] rather than [n, k]
};

/// Fills one panel of `packed`, which begins with panel 0. A block's scale is its largest magnitude
/// / 127, rounded to f16; the codes are nearest for that rounded scale.
void pack_int8(std::byte* packed, const StoredMatrix& w, std::size_t panel);

/// The same for int4; the scale, which may be negative, is searched for the least squared error.
void pack_int4(std::byte* packed, const StoredMatrix& w, std::size_t panel);

/// y[0 ... k) = the weights of one output column: a row of a packed wte is a token's embedding.
void unpack_int8(float* y, const std::byte* packed, std::size_t k, std::size_t column);
void unpack_int4(float* y, const std::byte* packed, std::size_t k, std::size_t column);

}  // namespace gpt2
