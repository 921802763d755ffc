#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpt2::cli {

/// A command of a talk, such as "/save FILE".
struct TalkCommand {
  std::string_view name;  ///< "save"
  std::string_view form;  ///< what follows the name, " FILE", in brackets if it may be left out
  std::string_view help;
};

/// Returns the command with this name. Throws Error if there is none.
[[nodiscard]] const TalkCommand& talk_command(const std::string& name);

/// Returns the text of /help or, for the name of a command, with or without its slash, what it
/// does. Returns "" for any other name. `columns` is the width of the text.
[[nodiscard]] std::string talk_help(const std::string& name, std::size_t columns);

/// Returns what the Tab key makes of the beginning of a line.
[[nodiscard]] std::vector<std::string> talk_completions(const std::string& begin);

}  // namespace gpt2::cli
