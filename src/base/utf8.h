#pragma once

#include <cstddef>
#include <string_view>

namespace gpt2 {

/// The length of the longest prefix that is valid UTF-8 (RFC 3629: no overlong forms, no
/// surrogates, nothing above U+10FFFF); text.size() where all of it is.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text) noexcept;

[[nodiscard]] inline bool is_valid_utf8(std::string_view text) noexcept {
  return valid_utf8_prefix(text) == text.size();
}

}  // namespace gpt2
