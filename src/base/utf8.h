#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpt2 {

/// What a text begins with, by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
struct Utf8Char {
  enum class Kind : std::uint8_t {
    valid,
    invalid,    ///< bytes that no further ones can make a character
    truncated,  ///< the text ends within what could still become a character
  };

  Kind kind;
  std::uint8_t length;  ///< bytes, 1 to 4; of no character: the maximal subpart that begins one,
                        ///< for which Python's errors="replace" writes one U+FFFD
  char32_t code_point;  ///< 0 unless valid
};

/// `text` must not be empty.
[[nodiscard]] Utf8Char decode_utf8(std::string_view text) noexcept;

/// The character that `text` ends with; invalid, of one byte, where it ends in none. `text` must
/// not be empty.
[[nodiscard]] Utf8Char last_utf8(std::string_view text) noexcept;

/// The length of the longest prefix that is valid UTF-8; text.size() where all of it is.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text) noexcept;

}  // namespace gpt2
