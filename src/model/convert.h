#pragma once

#include <memory>
#include <vector>

#include "gpt2/dtype.h"
#include "kernels/kernels.h"
#include "model/linear.h"

namespace gpt2 {

/// The same matrix as another type, on `threads` threads; the result points into what is appended
/// to `storage`. Returns `weight` itself where it has the type already, or for WeightType::stored.
/// Rounding is to nearest even; int8 and int4 as kernels/pack.h says.
[[nodiscard]] Weight convert(const Weight& weight, WeightType type, int threads,
                             std::vector<std::shared_ptr<const void>>& storage);

/// What a matrix of `type` is kept as, `stored` being what the file has.
[[nodiscard]] WeightFormat format_of(WeightType type, WeightFormat stored);

/// The kernel that makes floats of elements of such a format: f32, f16 or bf16.
[[nodiscard]] decltype(Kernels::widen_f32) widen_kernel(WeightFormat format);

}  // namespace gpt2
