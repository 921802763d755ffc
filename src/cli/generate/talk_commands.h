#pragma once

#include <string>

#include "cli/generate/writing.h"

// The commands of a talk. The options that /set can change are those that choose tokens and end
// texts. They have the names of the table in gpt2/option_fields.h, such as top_k, which may also be
// written as top-k.

namespace gpt2::cli {

/// A line of a talk that is a command, such as "/set top_k 10".
struct TypedCommand {
  std::string name;      ///< "set"
  std::string argument;  ///< "top_k 10", without blanks around it
};

/// Reads a line that begins with a slash. Throws Error if there is no such command, or if the
/// argument is missing or the command takes none.
[[nodiscard]] TypedCommand read_command(const std::string& line);

/// Returns the text of /help.
[[nodiscard]] std::string talk_help();

/// Sets an option, for words such as "top_k 10". A switch may lack its value. A list takes all its
/// values at once; texts may be strings of JSON, such as "\n" "Tom:". Throws Error for a name that
/// is unknown, and for a value that the option cannot have; `writing` may have changed in this
/// case.
void set_option(Writing& writing, const std::string& words);

/// Sets an option to the command's default. Throws Error for a name that is unknown.
void unset_option(Writing& writing, const std::string& name);

/// Returns a line for each option with its value. A star marks those without the default value.
[[nodiscard]] std::string option_values(const Writing& writing);

}  // namespace gpt2::cli
