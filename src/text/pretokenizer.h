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

/// Returns the class of a code point in the Unicode version that utf8proc implements.
[[nodiscard]] CharClass class_of(char32_t code_point) noexcept;

/// Returns whether \w in Rust's regular expressions matches a code point. HuggingFace's tokenizers
/// library finds whole words in this way. \w matches Unicode's Alphabetic, marks, decimal numbers,
/// connector punctuation and the two joiners (UTS #18, annex C).
[[nodiscard]] bool is_word_char(char32_t code_point) noexcept;

/// Returns the length in bytes of the longest prefix of `text` that has only characters of class
/// `kind`.
[[nodiscard]] std::size_t run_length(std::string_view text, CharClass kind) noexcept;

/// Returns the length in bytes of the first word of `text`, which is the part that GPT-2's pattern
/// matches at the beginning. Words cover the text without gaps, and BPE never merges across them.
/// REQUIRES: `text` is not empty.
///
/// A byte that is not part of valid UTF-8 counts as a character that is not a letter, number or
/// space. The calls for all words of a text together take linear time.
[[nodiscard]] std::size_t first_word_length(std::string_view text) noexcept;

}  // namespace gpt2
