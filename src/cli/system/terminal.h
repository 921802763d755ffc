#pragma once

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace gpt2::cli {

/// Sets the standard streams so that they carry bytes unchanged, and terminals so that they show
/// UTF-8 and colours. `main` calls it first.
void prepare_streams();

[[nodiscard]] bool is_terminal(std::FILE* stream);

/// The keys that end the input from a terminal.
extern const char* const kEndKeys;

/// Returns the number of columns of the terminal, or 0 if the stream is not a terminal.
[[nodiscard]] std::size_t terminal_columns(std::FILE* stream);

/// A character and the number of columns that it takes.
struct Glyph {
  std::string_view bytes;
  std::size_t width;
};

/// Must be called before first_glyph().
void prepare_widths();

/// Returns the first character of a text in UTF-8. A byte that is not UTF-8 counts as a character.
/// REQUIRES: the text is not empty.
[[nodiscard]] Glyph first_glyph(std::string_view text);

}  // namespace gpt2::cli
