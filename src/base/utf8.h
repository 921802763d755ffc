#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpt2 {

/// Whether the byte is one of ASCII's six white space characters.
[[nodiscard]] constexpr bool is_ascii_space(char byte) noexcept {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/// U+FFFD, which stands for bytes that are not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

/// The first or the last character of a text. It is valid if RFC 3629 allows it. Overlong forms,
/// surrogates and code points above U+10FFFF are therefore invalid.
struct Utf8Char {
  enum class Kind : std::uint8_t {
    valid,
    invalid,    ///< the bytes are not the beginning of any character
    truncated,  ///< the text ends before the character is complete
  };

  Kind kind;
  /// The length of the character in bytes, 1 to 4. If the character is not valid, this is the
  /// length of the maximal subpart, which Python's errors="replace" replaces with one U+FFFD.
  std::uint8_t length;
  char32_t code_point;  ///< 0 unless valid
};

/// Returns the character at the beginning of `text`. REQUIRES: `text` is not empty.
[[nodiscard]] Utf8Char decode_utf8(std::string_view text) noexcept;

/// Returns the character at the end of `text`. If `text` does not end with a valid character, the
/// result is invalid and has a length of 1. REQUIRES: `text` is not empty.
[[nodiscard]] Utf8Char last_utf8(std::string_view text) noexcept;

/// Returns how many characters begin in `bytes`, which may start or end in the middle of one.
[[nodiscard]] std::size_t count_characters(std::string_view bytes) noexcept;

/// Returns the last offset up to `at` at which a cut divides no character of UTF-8.
[[nodiscard]] std::size_t place_to_cut(std::string_view text, std::size_t at) noexcept;

/// Returns the length in bytes of the longest prefix that is valid UTF-8.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text) noexcept;

}  // namespace gpt2
