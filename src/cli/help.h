#pragma once

#include <CLI/CLI.hpp>
#include <string>

// The texts of --help, in lines of at most 80 columns. CLI11's own formatter breaks no lines, and
// its layout differs between versions.

namespace gpt2::cli {

/// Returns the help of a command: its description, how to call it, its positional arguments, the
/// groups of its options in the order in which they were added, and its footer. Fills the
/// paragraphs of the footer; its indented lines stay as they are.
[[nodiscard]] std::string help_text(const CLI::App& app);

/// Returns the lines of help_text() about one option or positional argument.
[[nodiscard]] std::string help_entry(const CLI::Option& option);

}  // namespace gpt2::cli
