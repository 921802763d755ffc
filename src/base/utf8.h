#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpt2 {

/// The first or the last character of a text. It is valid if RFC 3629 allows it, so there are no
/// overlong forms, no surrogates and nothing above U+10FFFF.
struct Utf8Char {
  enum class Kind : std::uint8_t {
    valid,
    invalid,    ///< bytes that cannot become a character, whatever follows
    truncated,  ///< the text ends inside what may still become a character
  };

  Kind kind;
  /// The length of the character in bytes, 1 to 4. Unless it is valid, the length of the maximal
  /// subpart, which Python's errors="replace" replaces with one U+FFFD.
  std::uint8_t length;
  char32_t code_point;  ///< 0 unless valid
};

/// `text` must not be empty.
[[nodiscard]] Utf8Char decode_utf8(std::string_view text) noexcept;

/// The character that `text` ends with; invalid, of one byte, if it does not end with one.
/// REQUIRES: `text` is not empty.
[[nodiscard]] Utf8Char last_utf8(std::string_view text) noexcept;

/// The length in bytes of the longest prefix that is valid UTF-8.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text) noexcept;

}  // namespace gpt2
