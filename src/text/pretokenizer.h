#pragma once

#include <cstddef>
#include <string_view>

#include "text/char_class.h"

namespace gpt2 {

/// The length in bytes of the characters of one class that `text` begins with.
[[nodiscard]] std::size_t run_length(std::string_view text, CharClass kind) noexcept;

/// The length in bytes of the first word of `text`, which must not be empty: what GPT-2's pattern
/// matches at its beginning. Words cover the text without a gap, and BPE never merges across them.
///
/// A byte that is no part of valid UTF-8 counts as a character that is neither letter, number nor
/// space. Linear in the text when called for word after word.
[[nodiscard]] std::size_t first_word_length(std::string_view text) noexcept;

}  // namespace gpt2
