#pragma once

#include <string>

// The layout of help texts, in lines of at most 80 columns.

namespace gpt2::cli {

/// Returns "  --name        what it does", with the description in a column of its own. A name that
/// leaves no room for the description stands on a line of its own.
[[nodiscard]] std::string described(std::string name, const std::string& description);

/// Fills the paragraphs of a text, and keeps its indented lines and its empty ones.
[[nodiscard]] std::string filled_paragraphs(const std::string& text);

}  // namespace gpt2::cli
