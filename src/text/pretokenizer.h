#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/normalizer.h"

namespace gpt2 {

/// The classes of characters that GPT-2's pre-tokenizer distinguishes.
enum class CharClass : std::uint8_t {
  letter,  ///< \p{L}: the general categories L*
  number,  ///< \p{N}: the general categories N*
  space,   ///< \s: the 25 code points of Unicode's White_Space
  other,
};

/// Returns the general category of a code point: two letters, such as "Lu".
[[nodiscard]] std::string_view category_of(char32_t code_point) noexcept;

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

/// The word at the beginning of a text.
struct FirstWord {
  std::size_t length;   ///< in bytes, above 0
  bool is_kept = true;  ///< if false, the word is white space that no token stands for
};

/// One step of a pre-tokenizer. Divides each text that the step before it yields into words.
struct WordSplit {
  FirstWord (*first_word)(std::string_view text);  ///< REQUIRES: `text` is not empty
  std::string prefix = {};         ///< put before a text that begins neither with it nor with ' '
  bool at_beginning_only = false;  ///< whether only the beginning of the whole text gets a prefix
  Rewrite rewrite = {};            ///< changes the text first, if not empty
  bool is_byte_level = false;      ///< whether the names of tokens spell bytes
};

/// The types of the steps of a pre_tokenizer.
[[nodiscard]] std::span<const StepKind<std::vector<WordSplit>>> pre_tokenizer_kinds();

/// Returns the step of GPT-2 or of BERT.
[[nodiscard]] WordSplit gpt2_word_split();
[[nodiscard]] WordSplit bert_word_split();

/// Whether the prefix of a Metaspace stands before every text, before the first one or nowhere.
enum class PrependScheme : std::uint8_t { always, first, never };

/// Reads it from a pre-tokenizer or a decoder. Throws Error(invalid_file).
[[nodiscard]] PrependScheme read_prepend_scheme(const JsonFields& fields);

/// SentencePiece's mark of a space, U+2581.
inline constexpr std::string_view kMetaspace = "\xe2\x96\x81";

}  // namespace gpt2
