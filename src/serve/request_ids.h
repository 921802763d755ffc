#pragma once

#include <cstddef>
#include <cstdio>
#include <random>
#include <string>

#include "base/text.h"

namespace gpt2::serve {

/// The ids of requests. Those of two processes differ, too.
class RequestIds {
 public:
  [[nodiscard]] std::string next() { return concat(first_digits_, "-", ++requests_); }

 private:
  // Returns 8 hexadecimal digits.
  static std::string random_digits() {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", std::random_device{}());
    return digits;
  }

  const std::string first_digits_ = random_digits();
  std::size_t requests_ = 0;
};

}  // namespace gpt2::serve
