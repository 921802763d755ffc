#include "generate/score/ratio_of_sums.h"

#include <cmath>
#include <limits>

namespace gpt2 {

Estimate ratio_of_sums(std::span<const Part> parts) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  double units = 0.0;
  for (const Part& part : parts) {
    sum += part.sum;
    units += part.units;
  }
  if (units == 0.0) return {kNan, kNan};
  const double ratio = sum / units;
  if (parts.size() < 2) return {ratio, kNan};
  double squares = 0.0;
  for (const Part& part : parts) {
    const double deviation = part.sum - ratio * part.units;
    squares += deviation * deviation;
  }
  const auto count = static_cast<double>(parts.size());
  return {ratio, std::sqrt(count / (count - 1.0) * squares) / units};
}

}  // namespace gpt2
