#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/generate/writing.h"
#include "cli/options/options.h"

namespace gpt2::cli {

/// The characters that separate the words of a command.
inline constexpr const char* kBlanks = " \t";

/// The options that /set can change in a talk: those that choose tokens and end texts. They have
/// the names of the table in gpt2/option_fields.h, such as top_k.
class TalkOptions {
 public:
  /// Changes `writing`, which must outlive this object.
  explicit TalkOptions(Writing& writing);

  /// Changes the settings as `gpt2 generate --top-k 10` would, for the words "top_k 10" or
  /// "top_k=10", and calls `check`. A switch may have the value true or false. An option that the
  /// command line may repeat takes all its values at once; texts may be strings of JSON, such as
  /// "\n" "Tom:". Throws Error, whose message has the names of the table, if the words are invalid
  /// or `check` throws it; the settings may have changed in this case.
  void set(const std::string& words, const std::function<void()>& check);

  /// Sets an option to the command's default. Throws Error if there is no such option.
  void unset(const std::string& name);

  /// Returns a line for each option with its value. A star marks those without the default value.
  [[nodiscard]] std::string list() const;

  /// Returns the help of an option. Throws Error if there is no such option; the message says that
  /// there is no such command either.
  [[nodiscard]] std::string help(const std::string& name) const;

  /// The names of all options.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  [[nodiscard]] const Option& find(const std::string& name, const char* what = "option") const;
  void take(const std::string& name, const std::string& value);
  void restore(const Option& option);
  [[nodiscard]] std::string renamed(const std::string& message) const;

  Writing& writing_;
  Options options_;
};

}  // namespace gpt2::cli
