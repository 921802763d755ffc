#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gpt2/tensor.h"
#include "gpt2/types.h"
#include "kernels/kernels.h"
#include "tensor/dtype.h"

namespace gpt2 {

/// The element types of weights in files. Functions that read single elements take this type, so
/// that they cannot be given quantized weights, whose bytes are not elements.
enum class FloatType : std::uint8_t { f32, f16, bf16 };

/// Returns the value for this type.
template <class T>
[[nodiscard]] T by_type(FloatType type, T f32, T f16, T bf16) noexcept {
  return type == FloatType::f32 ? f32 : type == FloatType::f16 ? f16 : bf16;
}

/// Return the bytes of one element, and the kernel that widens such elements to f32.
[[nodiscard]] std::size_t element_bytes(FloatType type) noexcept;
[[nodiscard]] decltype(Kernels::widen_f32) widen_kernel(FloatType type) noexcept;

/// Returns `type` as a type of floats, or nothing for int8, int4 and stored.
[[nodiscard]] std::optional<FloatType> float_type_of(WeightType type) noexcept;

/// The same for the type of a tensor in a file.
[[nodiscard]] std::optional<FloatType> float_type_of(DType type) noexcept;

/// The matrix of a linear map. It does not own the elements, which belong to the checkpoint or to a
/// buffer in Transformer::storage.
struct Weight {
  /// kn: the matrix has a row for each input feature, like HuggingFace's Conv1D. nk: it has a row
  /// for each output feature, like torch.nn.Linear. Quantized types have a layout of their own.
  enum class Layout : std::uint8_t { kn, nk };

  const std::byte* data = nullptr;
  /// Never `stored` if there is data. kernels.h describes the layout of int8 and int4.
  WeightType type = WeightType::f32;
  Layout layout = Layout::kn;
  std::size_t k = 0;  ///< input features
  std::size_t n = 0;  ///< output features

  [[nodiscard]] std::size_t size() const noexcept { return k * n; }
  [[nodiscard]] bool is_quantized() const noexcept {
    return type == WeightType::int8 || type == WeightType::int4;
  }
  [[nodiscard]] std::optional<FloatType> float_type() const noexcept { return float_type_of(type); }

  /// Returns the number of consecutive k that share one scale. REQUIRES: is_quantized().
  [[nodiscard]] std::size_t block() const noexcept {
    return type == WeightType::int8 ? kInt8Block : kInt4Block;
  }
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    return type == WeightType::int8 ? kInt8BlockBytes : kInt4BlockBytes;
  }
  [[nodiscard]] std::size_t bytes() const noexcept;  ///< 0 for `stored`

  /// Returns the shape in files: [k, n], [n, k] or, for quantized types, [panels, blocks, bytes of
  /// a block].
  [[nodiscard]] Shape shape() const;

  /// y = the k weights of one output feature. For wte, this is the embedding of a token. REQUIRES:
  /// the layout is nk, or the weight is quantized.
  void read_row(float* y, std::size_t feature) const noexcept;

  /// Returns the output features [begin, end) as a weight. REQUIRES: the layout is nk, or the
  /// weight is quantized; begin is a multiple of kPanel.
  [[nodiscard]] Weight columns(std::size_t begin, std::size_t end) const noexcept;
};

/// Quantizes block `block` of panel `panel` (kernels.h) of w, a matrix of floats, to int8 or int4,
/// and stores it at its position in `quantized`, which is the address of panel 0. Threads can share
/// out the blocks. The bytes are the same on every machine.
///
/// For int8, the scale of a column is its largest magnitude / 127, rounded to f16, and the codes
/// are the nearest ones for the rounded scale. For int4, tries several scales, which may be
/// negative, and takes the one with the min squared error. If a weight is NaN or infinite, the
/// scale is NaN.
void quantize_block(std::byte* quantized, WeightType type, const Weight& w, std::size_t panel,
                    std::size_t block);

}  // namespace gpt2
