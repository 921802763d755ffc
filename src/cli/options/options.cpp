#include "cli/options/options.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/terminal/console.h"
#include "gpt2/error.h"

namespace gpt2::cli {
namespace {

// Returns whether the word is an option: -x, -xVALUE, --name or --name=VALUE. A dash followed by a
// blank begins a text, such as "- milk".
bool is_option(std::string_view word) {
  const std::size_t dashes = word.starts_with("--") ? 2 : 1;
  return word.starts_with('-') && word.size() > dashes && word[dashes] != '-' &&
         static_cast<unsigned char>(word[dashes]) > ' ';
}

}  // namespace

std::string option_name(std::string_view field) {
  std::string name = concat("--", field);
  std::ranges::replace(name, '_', '-');
  return name;
}

bool Option::is_named(std::string_view word) const {
  const std::size_t comma = names.find(',');
  return word == name() || (comma != names.npos && word == names.substr(0, comma));
}

Options::Options(std::string command, std::string summary, std::string details)
    : command_(std::move(command)), summary_(std::move(summary)), details_(std::move(details)) {}

Option& Options::add(const std::string& names, const std::string& form, const std::string& help,
                     std::function<void(const std::string&)> set) {
  return options_.emplace_back(Option{names, form, help, std::move(set), group_});
}

Option& Options::add_switch(const std::string& names, bool& value, const std::string& help) {
  return add(names, "", help, [&value](const std::string&) { value = true; });
}

Option& Options::add_text(const std::string& names, const std::string& form, std::string& value,
                          const std::string& help) {
  return add(names, form, help, [&value](const std::string& text) { value = text; });
}

Option& Options::add_file(const std::string& names, std::string& file, const std::string& help,
                          const std::string& form, const std::string& what) {
  const auto set = [=, name = names.substr(names.find(',') + 1), &file](const std::string& text) {
    if (text.empty()) throw UsageError(name, "expected " + what + ", found ''");
    file = text;
  };
  return add(names, form, help, set);
}

Option& Options::add_choice(const std::string& names, const std::string& words,
                            const std::string& help, std::function<void(const std::string&)> set) {
  const auto check = [=, set = std::move(set)](const std::string& text) {
    if (text.find('|') == text.npos && ('|' + words + '|').find('|' + text + '|') != words.npos) {
      return set(text);
    }
    throw UsageError(names, "expected " + words + ", found '" + text + "'");
  };
  return add(names, words, help, check);
}

Option* Options::find(std::string_view name) {
  const auto option =
      std::ranges::find_if(options_, [name](const Option& o) { return o.is_named(name); });
  return option == options_.end() ? nullptr : &*option;
}

bool Options::has(std::string_view name) const {
  return std::ranges::any_of(options_,
                             [name](const Option& o) { return o.is_named(name) && o.is_given(); });
}

// Returns the argument that is a text, or nullptr if the command takes none.
const Option* Options::text() const {
  const auto text = std::ranges::find_if(options_, [](const Option& option) {
    return option.names == "TEXT" || option.names == "PROMPT";
  });
  return text == options_.end() ? nullptr : &*text;
}

void Options::refuse_option(const std::string& word) const {
  throw UsageError("unknown option '" + word + "'" +
                   (text() != nullptr ? "; a text that begins with a dash goes after --" : ""));
}

void Options::check_combinations() const {
  for (const Option& option : options_) {
    if (!option.is_given()) {
      if (option.is_required) throw UsageError(option.name() + " is required");
      continue;
    }
    if (!option.needed.empty() && !has(option.needed)) {
      throw UsageError(option.name() + " requires " + option.needed);
    }
    for (const Option& other : options_) {
      if (!other.is_given()) continue;
      if (std::ranges::count(option.excluded, other.name()) == 0 &&
          std::ranges::count(other.excluded, option.name()) == 0) {
        continue;
      }
      throw UsageError(option.name() + " cannot be combined with " + other.name() +
                       ": give only one of them");
    }
  }
}

// Assigns the words of a command line to the options.
class Options::Parser {
 public:
  Parser(Options& options, const Arguments& words) : options_(options), words_(words) {}

  void run() {
    for (; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (!has_ended_ && word == "--") {
        has_ended_ = true;
      } else if (!has_ended_ && is_option(word)) {
        take_option(word);
      } else {
        take_argument(word);
      }
    }
  }

  // Refuses the words that belong to no option or argument.
  void check_extras() const {
    if (extras_.empty()) return;
    std::string message = "unexpected argument '" + extras_.front() + "'";
    if (const Option* const text = options_.text()) {
      message += " after the text " + quote(text->values.front()) +
                 ": put a text of several words in quotes; 'gpt2 --help' lists the commands";
    }
    throw UsageError(message);
  }

 private:
  // Takes the option that the word names. Its value may be in the same word, as in --name=5, -n=5
  // and -n5, or in the next one, which may look like an option.
  void take_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    Option* option = options_.find(word.substr(0, equals));
    std::optional<std::string> value;
    if (option != nullptr && equals != word.npos) {
      value = word.substr(equals + 1);
      if (value->empty()) throw UsageError(option->name(), "nothing follows the '='");
    } else if (option == nullptr) {
      option = find_short(word);
      if (option == nullptr) options_.refuse_option(word);
      value = word.substr(2);
    }
    if (!option->takes_value()) {
      if (value) throw UsageError(option->name() + " takes no value");
      value = "true";
    }
    if (!value) value = next_value(*option);
    give(*option, *value);
  }

  // Returns the option of -n5.
  Option* find_short(const std::string& word) const {
    Option* const option = word.starts_with("--") ? nullptr : options_.find(word.substr(0, 2));
    return option != nullptr && option->takes_value() ? option : nullptr;
  }

  std::string next_value(const Option& option) {
    if (at_ + 1 < words_.size()) return words_[++at_];
    throw UsageError(option.name() + " expects a value: " + option.name() + ' ' + option.form);
  }

  void take_argument(const std::string& word) {
    const auto is_free = [](const Option& option) {
      return option.is_argument() && (!option.is_given() || option.is_repeatable);
    };
    const auto argument = std::ranges::find_if(options_.options_, is_free);
    if (argument == options_.options_.end()) return extras_.push_back(word);
    give(*argument, word);
  }

  static void give(Option& option, const std::string& value) {
    if (option.is_given() && option.takes_value() && !option.is_repeatable) {
      throw UsageError(option.name() + " may be given only once");
    }
    option.values.push_back(value);
  }

  Options& options_;
  const Arguments& words_;
  std::size_t at_ = 0;
  bool has_ended_ = false;  // whether the -- that ends the options has been read
  Arguments extras_;
};

void Options::parse(const Arguments& arguments) {
  const auto nothing = [](const std::string&) {};
  const char* const help_on_all = common_.empty() ? "" : "Print the help on all options and exit";
  const Option& all = add("--help-all", "", help_on_all, nothing);
  const Option& common = add("-h,--help", "", "Print this and exit", nothing);
  Parser parser(*this, arguments);
  parser.run();
  if (all.is_given() || common.is_given()) {
    write_stdout(help(all.is_given() || common_.empty()));
    throw HelpPrinted();
  }
  for (const Option& option : options_) {
    for (const std::string& value : option.values) {
      try {
        option.set(value);
      } catch (const Error& error) {
        throw UsageError(error.what());
      }
    }
  }
  check_combinations();
  parser.check_extras();
}

std::string Options::help(bool with_all) const {
  const auto help_on = [](const Option& option) {
    std::string name = "  " + option.names;
    if (!option.is_argument() && !option.form.empty()) name += ' ' + option.form;
    return option.help.empty() ? "" : described(name, option.help);
  };
  std::string text = filled_paragraphs(summary_) + "\nUsage: " + command_ + " [OPTIONS]";
  std::string arguments;
  std::vector<std::string> groups;
  for (const Option& option : options_) {
    if (option.is_argument()) {
      text += option.is_required ? ' ' + option.names : " [" + option.names + ']';
      arguments += help_on(option);
    } else if (std::ranges::find(groups, option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  text += '\n';
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;
  if (!with_all) {
    text += "\nCommon options:\n";
    for (const Option& option : options_) {
      if (std::ranges::count(common_, option.name()) != 0) text += help_on(option);
    }
    return text + '\n' + filled_paragraphs(details_.substr(details_.find("Examples:")));
  }
  for (const std::string& group : groups) {
    text += '\n' + group + ":\n";
    for (const Option& option : options_) {
      if (!option.is_argument() && option.group == group) text += help_on(option);
    }
  }
  return text + '\n' + filled_paragraphs(details_);
}

}  // namespace gpt2::cli
