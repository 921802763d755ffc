#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

// The layout of texts on a terminal: how wide it is, and where lines break.

namespace gpt2::cli {

/// Returns the number of columns to use for a help text on this stream: those that the environment
/// variable COLUMNS gives, or else those of the terminal, or else 80; but at least 40 and at most
/// 100, because longer lines are hard to read.
[[nodiscard]] std::size_t text_columns(std::FILE* stream);

/// Returns "  --name        what it does", with the description in a column of its own, in lines of
/// at most `columns` characters. A name that leaves no room for the description stands on a line of
/// its own.
[[nodiscard]] std::string described(std::string name, const std::string& description,
                                    std::size_t columns);

/// Fills the paragraphs of a text, and keeps its indented lines and its empty ones. An indented
/// line whose words are separated by two blanks or more, such as "  info   show a model's files",
/// is a row of a table: its second part is filled, too, together with the deeper lines after it.
[[nodiscard]] std::string filled_paragraphs(const std::string& text, std::size_t columns);

}  // namespace gpt2::cli
