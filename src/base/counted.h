#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"

namespace gpt2 {

/// Returns "1 token" or "2 tokens", for messages.
[[nodiscard]] inline std::string counted(std::size_t count, std::string_view noun) {
  return concat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace gpt2
