#pragma once

#include <string>
#include <vector>

#include "cli/generate/writing.h"

// The options that /set can change in a talk: those that choose tokens and end texts. They have the
// names of the table in gpt2/option_fields.h, such as top_k, which may also be written as top-k.
// "greedy" is another name of temperature 0. All functions throw Error for a name that is unknown.

namespace gpt2::cli {

/// The characters that separate the words of a command.
inline constexpr const char* kBlanks = " \t";

/// Sets an option, for words such as "top_k 10" or "top_k=10". A switch may lack its value. A list
/// takes all its values at once; texts may be strings of JSON, such as "\n" "Tom:". Throws Error
/// for a value that the option cannot have; `writing` may have changed in this case.
void set_option(Writing& writing, const std::string& words);

/// Sets an option to the command's default.
void unset_option(Writing& writing, const std::string& name);

/// Returns a line for each option with its value. A star marks those without the default value.
[[nodiscard]] std::string option_values(const Writing& writing);

/// Returns the help of an option, in lines of at most `columns` characters.
[[nodiscard]] std::string option_help(const std::string& name, std::size_t columns);

/// The names of all options.
[[nodiscard]] std::vector<std::string> option_names();

}  // namespace gpt2::cli
