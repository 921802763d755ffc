#pragma once

#include <cstddef>

// Functions that quantize weights to the panels that kernels.h describes, and convert them back to
// floats. The bytes are the same on every machine. Every function is thread-safe. A matrix is
// quantized block by block, so that threads can share out the blocks.

namespace gpt2 {

/// A weight matrix as it lies in a file.
struct StoredMatrix {
  const std::byte* data;
  std::size_t element_size;                                        ///< in bytes
  void (*widen)(float* y, const void* x, std::size_t n) noexcept;  ///< from the kernel table
  std::size_t k, n;
  bool k_major;  ///< true: the matrix lies as [k, n]; false: as [n, k]
};

/// Quantizes block `block` of panel `panel` of w to int8, and stores it at its position in
/// `quantized`, which is the address of panel 0. The scale of a column is its largest magnitude /
/// 127, rounded to f16. The codes are the nearest ones for the rounded scale. If a weight is NaN or
/// infinite, the scale is NaN.
void quantize_int8(std::byte* quantized, const StoredMatrix& w, std::size_t panel,
                   std::size_t block);

/// The same for int4. It tries several scales and takes the one with the min squared error. The
/// scale may be negative.
void quantize_int4(std::byte* quantized, const StoredMatrix& w, std::size_t panel,
                   std::size_t block);

/// y[0 ... k) = the weights of output column `column` of a quantized matrix. For a quantized wte,
/// this is the embedding of token `column`.
void dequantize_int8(float* y, const std::byte* quantized, std::size_t k, std::size_t column);
void dequantize_int4(float* y, const std::byte* quantized, std::size_t k, std::size_t column);

}  // namespace gpt2
