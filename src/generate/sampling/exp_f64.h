#pragma once

namespace gpt2 {

/// Returns e^x within 1.5 ulp if the result is a normal number, with the same bits on every
/// machine. The C library's own exp may give another last digit in another version. NaN stays NaN.
/// REQUIRES: the floating-point state is the default one (see DefaultFloatState).
[[nodiscard]] double exp_f64(double x) noexcept;

}  // namespace gpt2
