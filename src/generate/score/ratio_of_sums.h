#pragma once

#include <span>

#include "gpt2/score.h"

namespace gpt2 {

/// A part of the data: the sum of some quantity over it, and the number of its units.
struct Part {
  double sum;
  double units;
};

/// Returns the sum of all parts divided by the number of their units.
///
/// The parts are treated as a random sample. Part w of W has the sum s_w and n_w units, and all
/// parts together have N units. The standard error of the ratio R of the two sums is estimated by
/// (Cochran, Sampling Techniques, 6.4)
///
///   SE(R)^2 = W / (W - 1) * sum (s_w - R n_w)^2 / N^2
///
/// If all parts have the same number of units, this is the usual variance of the mean of the means
/// m_w = s_w / n_w: sum (m_w - R)^2 / (W (W - 1)).
[[nodiscard]] Estimate ratio_of_sums(std::span<const Part> parts);

}  // namespace gpt2
