#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpt2 {

/// The classes of characters that GPT-2's pre-tokenizer distinguishes.
enum class CharClass : std::uint8_t {
  letter,  ///< \p{L}: the general categories L*
  number,  ///< \p{N}: the general categories N*
  space,   ///< \s: the 25 code points of Unicode's White_Space
  other,
};

/// The class of a code point, by the Unicode version that utf8proc implements.
[[nodiscard]] CharClass class_of(char32_t code_point) noexcept;

/// Whether a code point is matched by \w in Rust's regular expressions, which tokenizers uses to
/// find whole words: Unicode's Alphabetic, marks, decimal numbers, connector punctuation and the
/// two joiners (UTS #18, annex C).
[[nodiscard]] bool is_word_char(char32_t code_point) noexcept;

/// The length in bytes of the characters of one class that `text` begins with.
[[nodiscard]] std::size_t run_length(std::string_view text, CharClass kind) noexcept;

/// The length in bytes of the first word of `text`: of what GPT-2's pattern matches at its
/// beginning. Words cover the text without a gap, and BPE never merges across them. REQUIRES:
/// `text` is not empty.
///
/// A byte that is not part of valid UTF-8 counts as a character that is neither letter, number nor
/// space. Calls for all words of a text take linear time together.
[[nodiscard]] std::size_t first_word_length(std::string_view text) noexcept;

}  // namespace gpt2
