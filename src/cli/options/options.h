#pragma once

#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "gpt2/option_fields.h"

namespace gpt2::cli {

using Arguments = std::vector<std::string>;

/// The exception for invalid arguments. The command ends with status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

  /// The message is "option: message".
  UsageError(const std::string& option, const std::string& message)
      : std::runtime_error(option + ": " + message) {}
};

/// Returns the option for the member of a request or the row of a table: "--min-p" for "min_p".
[[nodiscard]] std::string option_name(std::string_view field);

/// Thrown by Options::parse() after it has printed the help.
struct HelpPrinted {};

/// An option such as "-t,--threads", or an argument without dashes such as "FILE".
struct Option {
  std::string names;  ///< the short name if there is one, a comma, and the long name
  std::string form;   ///< how the help shows its value: "N"; "" for a switch and for an argument
  std::string help;   ///< "": the option is not listed

  /// Stores the value, or throws UsageError, or an Error that becomes one.
  std::function<void(const std::string& value)> set;

  std::string group = {};                  ///< the title of its section in the help
  std::vector<std::string> excluded = {};  ///< long names of options that contradict this one
  std::string needed = {};                 ///< the long name of an option without which this one
                                           ///< does nothing
  bool is_required = false;
  bool is_repeatable = false;

  std::vector<std::string> values = {};  ///< those of the command line; "true" for a switch

  /// The name that messages use: the long one.
  [[nodiscard]] std::string name() const { return names.substr(names.find(',') + 1); }
  [[nodiscard]] bool is_named(std::string_view word) const;  ///< the short or the long name
  [[nodiscard]] bool is_argument() const { return !names.starts_with('-'); }
  [[nodiscard]] bool takes_value() const { return is_argument() || !form.empty(); }
  [[nodiscard]] bool is_given() const { return !values.empty(); }
};

/// The options and arguments of a command. It parses a command line and writes the help.
///
///   std::size_t count = 1;
///   Options options("gpt2 greet", "Greets", "Examples:\n  gpt2 greet -n 2");
///   options.add_number("-n,--count", count, {1, 9}, "How often");
///   options.parse({"-n", "2"});  // count is 2
class Options {
 public:
  /// `details` follows the options in the help.
  Options(std::string command, std::string summary, std::string details);

  /// Options that are added from now on belong to this section of the help. The first one is
  /// "Options".
  void begin_group(std::string title) { group_ = std::move(title); }

  /// Adds an option, or an argument if the name has no dashes. The reference stays valid.
  Option& add(const std::string& names, const std::string& form, const std::string& help,
              std::function<void(const std::string&)> set);

  Option& add_switch(const std::string& names, bool& value, const std::string& help);

  Option& add_text(const std::string& names, const std::string& form, std::string& value,
                   const std::string& help);

  /// Adds an option that takes the name of a file, or of `what`, which is not empty.
  Option& add_file(const std::string& names, std::string& file, const std::string& help,
                   const std::string& form = "FILE", const std::string& what = "a file");

  /// Adds an option that takes one of some words, such as "text|json", which the help shows. The
  /// setter receives one of them.
  Option& add_choice(const std::string& names, const std::string& words, const std::string& help,
                     std::function<void(const std::string&)> set);

  /// Adds an option that takes a number in this range. The current value is the default, which the
  /// help shows.
  template <class Number>
  Option& add_number(const std::string& names, Number& value, OptionRange range,
                     const std::string& help) {
    const auto set = [name = names.substr(names.find(',') + 1), range,
                      &value](const std::string& text) {
      value = parse_number<Number>(name, text, range);
    };
    return add(names, "N", concat(help, " (default ", value, ")"), set);
  }

  /// Returns the number in the text. Throws UsageError if it is not one, or is out of range.
  template <class Number>
  [[nodiscard]] static Number parse_number(const std::string& option, const std::string& text,
                                           const OptionRange& range) {
    Number value = {};
    if (read_number(text, value) && range.contains(value)) return value;
    throw UsageError(option, concat("expected ", range.text(std::is_integral_v<Number>),
                                    ", found '", text, "'"));
  }

  /// Calls the setters. Throws UsageError if the arguments are invalid. If they ask for help,
  /// prints it and throws HelpPrinted.
  void parse(const Arguments& arguments);

  /// Returns the option with this short or long name, or nullptr.
  [[nodiscard]] Option* find(std::string_view name);

  /// REQUIRES: there is such an option.
  [[nodiscard]] Option& at(std::string_view name) { return *find(name); }

  /// Whether there is such an option and it was given.
  [[nodiscard]] bool has(std::string_view name) const;

  /// The help shows only these options and the examples at the end of the details. `--help-all`
  /// shows everything.
  void set_common(std::vector<std::string> names) { common_ = std::move(names); }

  /// Returns the help: the summary, how to call the command, the arguments, the options, all in
  /// their groups or only the common ones, and the details.
  [[nodiscard]] std::string help(bool with_all) const;

 private:
  class Parser;

  [[nodiscard]] const Option* text() const;
  [[noreturn]] void refuse_option(const std::string& word) const;
  void check_combinations() const;

  std::string command_, summary_, details_;
  std::string group_ = "Options";
  std::vector<std::string> common_ = {};  // long names
  std::deque<Option> options_;            // a deque, so that references stay valid
};

}  // namespace gpt2::cli
