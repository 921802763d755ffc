#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gpt2/tensor.h"
#include "gpt2/weight_type.h"
#include "kernels/kernels.h"

namespace gpt2 {

/// The element types of weights in files. Functions that read single elements take this type, so
/// that they cannot be given quantized weights, whose bytes are not elements.
enum class FloatType : std::uint8_t { f32, f16, bf16 };

/// Chooses among values by type.
template <class T>
[[nodiscard]] T by_type(FloatType type, T f32, T f16, T bf16) noexcept {
  return type == FloatType::f32 ? f32 : type == FloatType::f16 ? f16 : bf16;
}

/// Bytes of one element, and the kernel that widens such elements to f32.
[[nodiscard]] std::size_t element_bytes(FloatType type) noexcept;
[[nodiscard]] decltype(Kernels::widen_f32) widen_kernel(FloatType type) noexcept;

/// The type of floats that `type` is; none for int8, int4 and stored.
[[nodiscard]] std::optional<FloatType> float_type_of(WeightType type) noexcept;

/// A linear map's matrix, borrowed from the checkpoint or quantized at load.
struct Weight {
  /// kn: element (k, n) at k * n_features + n (HuggingFace's Conv1D). nk: at n * k_features + k
  /// (torch.nn.Linear). Quantized formats have a layout of their own.
  enum class Layout : std::uint8_t { kn, nk };

  const std::byte* data = nullptr;
  /// Never `stored` once there is data. kernels.h tells how int8 and int4 lie in memory.
  WeightType type = WeightType::f32;
  Layout layout = Layout::kn;
  std::size_t k = 0;  ///< input features
  std::size_t n = 0;  ///< output features

  [[nodiscard]] std::size_t size() const noexcept { return k * n; }
  [[nodiscard]] bool is_quantized() const noexcept {
    return type == WeightType::int8 || type == WeightType::int4;
  }
  [[nodiscard]] std::optional<FloatType> float_type() const noexcept { return float_type_of(type); }

  /// Consecutive k that share one scale, for quantized formats.
  [[nodiscard]] std::size_t block() const noexcept {
    return type == WeightType::int8 ? kInt8Block : kInt4Block;
  }
  [[nodiscard]] std::size_t block_bytes() const noexcept {
    return type == WeightType::int8 ? kInt8BlockBytes : kInt4BlockBytes;
  }
  [[nodiscard]] std::size_t bytes() const noexcept;  ///< 0 for `stored`

  /// The layout in files: [k, n] or [n, k]; for quantized formats [panels, blocks, bytes of a block].
  [[nodiscard]] Shape shape() const;

  /// y = the k weights of one output feature of an nk or quantized weight: a token's embedding.
  void read_row(float* y, std::size_t feature) const noexcept;

  /// Columns begin ... end of an nk or quantized weight as a weight of its own. REQUIRES: begin is a
  /// multiple of kPanel.
  [[nodiscard]] Weight columns(std::size_t begin, std::size_t end) const noexcept;
};

}  // namespace gpt2
