#include "gpt2/option_fields.h"

#include <cstdint>
#include <limits>

#include "base/text.h"

namespace gpt2 {
namespace {

std::string text_of(double number, bool is_whole) {
  if (!is_whole) return concat(number);
  // The nearest double of the largest whole number is one more than this number.
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  return concat(number < static_cast<double>(kMax) ? static_cast<std::uint64_t>(number) : kMax);
}

}  // namespace

std::string OptionRange::text(bool is_whole) const {
  const std::string first = also == min ? "" : text_of(also, is_whole) + " or ";
  if (min == max) return first + text_of(min, is_whole);
  return concat(first, is_whole ? "a whole number from " : "a number from ", text_of(min, is_whole),
                " to ", text_of(max, is_whole));
}

}  // namespace gpt2
