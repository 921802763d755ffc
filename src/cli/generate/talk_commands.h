#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace gpt2::cli {

/// A line of a talk that is a command, such as "/set top_k 10".
struct TypedCommand {
  std::string name;      ///< "set"
  std::string argument;  ///< "top_k 10", without blanks around it
};

/// Reads a line that begins with a slash. Throws Error if there is no such command, or if the
/// argument is missing or the command takes none.
[[nodiscard]] TypedCommand read_command(const std::string& line);

/// Returns the file that an argument names. The name may be in quotes, and a ~ before its first
/// slash is the home directory. Throws Error if there is none, or if the name is that of a
/// directory. REQUIRES: the argument is not empty.
[[nodiscard]] std::filesystem::path file_of(const std::string& argument);

/// Returns the text of /help or, for the name of a command, with or without its slash, or of an
/// option of /set, what it does. Throws Error for any other name. `columns` is the width of the
/// text.
[[nodiscard]] std::string talk_help(const std::string& name, std::size_t columns);

/// Returns what the Tab key makes of the beginning of a line.
[[nodiscard]] std::vector<std::string> talk_completions(const std::string& begin);

}  // namespace gpt2::cli
