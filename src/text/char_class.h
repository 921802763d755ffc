#pragma once

#include <cstdint>

namespace gpt2 {

/// The kinds of characters that GPT-2's pre-tokenizer tells apart.
enum class CharClass : std::uint8_t {
  letter,  ///< \p{L}: the general categories L*
  number,  ///< \p{N}: the general categories N*
  space,   ///< \s: the 25 code points of Unicode's White_Space
  other,
};

/// Categories are those of the Unicode version that utf8proc knows.
[[nodiscard]] CharClass class_of(char32_t code_point) noexcept;

/// \w of Rust's regular expressions, by which tokenizers tells whole words: Unicode's Alphabetic,
/// marks, decimal numbers, connector punctuation and the two joiners (UTS #18, annex C).
[[nodiscard]] bool is_word_char(char32_t code_point) noexcept;

}  // namespace gpt2
