#include "cli/args.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>
#include <utility>

#include "cli/console.h"
#include "cli/help.h"
#include "cli/nearest.h"
#include "gpt2/engine.h"

namespace gpt2::cli {
namespace {

// Rewords CLI11's message about an option that has too many values or too few. That message begins
// with the option's name; if a switch was given a value, the name lacks its dashes, so that no
// option of that name is found.
std::string mismatch(const CLI::App& app, const std::string& message) {
  const std::string name = message.substr(0, message.find_first_of(": "));
  const CLI::Option* const option = app.get_option_no_throw(name);
  if (option == nullptr) return "--" + name + " takes no value";
  if (option->count() > 1) return name + " may be given only once";
  return name + " expects a value: " + name + ' ' + option->get_option_text();
}

// Rewords CLI11's message about two options of which only one may be given, because "--a excludes
// --b" could also mean that --b is ignored.
std::string conflict(std::string message) {
  const std::string verb = " excludes ";
  const std::size_t at = message.find(verb);
  if (at != std::string::npos) message.replace(at, verb.size(), " cannot be combined with ");
  return message + ": give only one of them";
}

// Returns whether CLI11 treats the word as an option: -x, -xVALUE, --name or --name=VALUE.
bool is_option(const std::string& word) {
  const std::size_t dashes = word.starts_with("--") ? 2 : 1;
  return word.starts_with('-') && word.size() > dashes &&
         std::isalnum(static_cast<unsigned char>(word[dashes])) != 0;
}

// Returns the option that a word names, or nullptr. The value of a short option may be in the same
// word, as in -n5. But -ngl is not -n with a value, because gl is not a number, and -model is a
// misspelled --model.
const CLI::Option* option_in(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const CLI::Option* const option = app.get_option_no_throw(name);
  if (option != nullptr || name.starts_with("--")) return option;
  const CLI::Option* const short_one = app.get_option_no_throw(name.substr(0, 2));
  const bool takes_value = short_one != nullptr && short_one->get_items_expected_min() > 0;
  if (!takes_value || app.get_option_no_throw('-' + name) != nullptr) return nullptr;
  const bool is_number = std::isdigit(static_cast<unsigned char>(word[2])) != 0;
  return is_number || short_one->get_option_text() != "N" ? short_one : nullptr;
}

// Returns the option that the user probably meant by an unknown one, or "".
std::string meant_by(const CLI::App& app, const std::string& word) {
  // The names that other programs use. This table is needed because nearest() would suggest a wrong
  // option for some of them.
  constexpr std::pair<const char*, const char*> kOtherNames[] = {
      {"--max-length", "--max-new-tokens"},
      {"--n-predict", "--max-new-tokens"},
      {"-hf", "--model"}};
  std::string name = word.substr(0, word.find('='));
  for (const auto& [other, here] : kOtherNames) {
    if (name == other && app.get_option_no_throw(here) != nullptr) return here;
  }
  if (name.size() > 2 && !name.starts_with("--")) name.insert(0, 1, '-');
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) names.push_back(option->get_name());
  return nearest(name, names);
}

// Returns whether the command takes a text: it has an optional positional argument that is not a
// FILE.
bool takes_text(const CLI::App& app) {
  return !app.get_options([](const CLI::Option* option) {
               return option->get_positional() && !option->get_required() &&
                      option->get_name() != "FILE";
             })
              .empty();
}

[[noreturn]] void refuse_option(const CLI::App& app, const std::string& word) {
  const std::string name = meant_by(app, word);
  if (name.empty()) {
    throw UsageError("unknown option '" + word + "'" +
                     (takes_text(app) ? "; a text that begins with a dash goes after --" : ""));
  }
  throw UsageError("unknown option '" + word + "' (did you mean " + name +
                   (name == word ? ", before the --?)" : "?)"));
}

// Refuses unknown options before CLI11 parses the words, because CLI11 would treat -ngl as -n, and
// the value of an unknown option as a positional argument. Rewrites -n=5 as --max-new-tokens=5,
// because CLI11 would include the '=' in the value.
void check_options(const CLI::App& app, std::span<std::string> words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    std::string& word = words[i];
    if (!is_option(word)) continue;
    const CLI::Option* const option = option_in(app, word);
    if (option == nullptr) refuse_option(app, word);
    if (word.find('=') == 2) word.replace(0, 2, option->get_name());
    // CLI11 would take the argument after "--stop=" as its value.
    if (word == option->get_name() + '=') {
      throw UsageError(option->get_name(), "nothing follows the '='");
    }
    const bool has_name_alone = app.get_option_no_throw(word) != nullptr;
    if (has_name_alone && option->get_items_expected_min() > 0) ++i;  // the next word is its value
  }
}

// Refuses the words that CLI11 could not assign to an option or argument.
void check_extras(const CLI::App& app) {
  const bool has_positionals =
      !app.get_options([](const CLI::Option* option) { return option->get_positional(); }).empty();
  bool options_ended = false;
  for (const std::string& extra : app.remaining()) {
    if (extra == "--") {
      if (std::exchange(options_ended, true)) {
        throw UsageError("unexpected argument '--': only the first -- ends the options");
      }
      continue;
    }
    if (extra.starts_with('-')) refuse_option(app, extra);
    const char* const advice = takes_text(app)   ? ": put a text of several words in quotes"
                               : has_positionals ? ""
                                                 : ": name a model with -m";
    throw UsageError("unexpected argument '" + extra + "'" + advice);
  }
}

}  // namespace

void parse(CLI::App& app, Arguments arguments) {
  app.set_help_flag("-h,--help", "Print this and exit");
  app.allow_extras();
  check_options(app, arguments);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 expects the last argument first
    app.parse(std::move(arguments));
  } catch (const CLI::Success&) {
    write_stdout(help_text(app));
    throw;
  } catch (const CLI::ArgumentMismatch& error) {
    throw UsageError(mismatch(app, error.what()));
  } catch (const CLI::ExcludesError& error) {
    throw UsageError(conflict(error.what()));
  }
  check_extras(app);
}

std::set<std::string> given_options(const CLI::App& app) {
  std::set<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    if (option->count() != 0) names.insert(option->get_name());
  }
  return names;
}

CLI::Option* add_switch(CLI::App& app, const std::string& name, bool& value,
                        const std::string& help) {
  return app.add_flag(name, value, help)->disable_flag_override();
}

CLI::Option* add_model_option(CLI::App& app, std::string& model) {
  return app
      .add_option("-m,--model", model,
                  "A directory, a file in it, or a name (default: the bundled model)")
      ->check([](const std::string& name) {
        return name.empty() ? "expected a directory, a file or a name, found ''" : "";
      })
      ->option_text("MODEL");
}

std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                            const EncodeOptions& options) {
  const std::size_t lost = tokenizer.unencodable_bytes(text, options);
  if (lost != 0) {
    print_error(format(
        "the model's vocabulary has no tokens for %zu of the text's %zu bytes; the model does not "
        "see these bytes",
        lost, text.size()));
  }
  return tokenizer.encode(text, options);
}

std::vector<TokenId> parse_tokens(std::string text, std::size_t count) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(std::move(text));
  std::vector<TokenId> tokens;
  for (std::string word; words >> word;) {
    std::size_t id = 0;
    if (!read_number(word, id) || id >= count) {
      refuse(format("token id %zu: expected a number from 0 to %zu, found '%.40s'",
                    tokens.size() + 1, count - 1, word.c_str()));
    }
    tokens.push_back(static_cast<TokenId>(id));
  }
  return tokens;
}

std::string join(std::span<const TokenId> tokens) {
  std::string line;
  for (const TokenId token : tokens) line += (line.empty() ? "" : " ") + std::to_string(token);
  return line;
}

WeightType parse_dtype(const std::string& text) {
  const auto type = weight_type_named(text).value_or(WeightType::stored);
  if (type != WeightType::stored) return type;
  const std::vector<std::string> names = {"f32", "f16", "bf16", "int8", "int4"};
  std::string word = text;
  if (const std::size_t at = word.find("loat"); at != word.npos) word.erase(at, 4);  // float16
  const std::string meant = nearest(word, names);
  throw UsageError("--dtype", "expected f32, f16, bf16, int8 or int4, found '" + text + "'" +
                                  (meant.empty() ? "" : " (did you mean " + meant + "?)"));
}

CLI::Option* add_dtype_option(CLI::App& app, WeightType& dtype) {
  return app
      .add_option_function<std::string>(
          "--dtype", [&dtype](const std::string& text) { dtype = parse_dtype(text); },
          "Convert the weights to this type (default: as stored)")
      ->option_text("f32|f16|bf16|int8|int4");
}

CLI::Option* add_kv_option(CLI::App& app, KVType& type) {
  const auto set_type = [&type](const std::string& text) {
    const std::optional<KVType> named = kv_type_named(text);
    if (!named) throw UsageError("--kv", "expected auto, f32 or f16, found '" + text + "'");
    type = *named;
  };
  return app
      .add_option_function<std::string>(
          "--kv", set_type,
          "Hold keys and values as f32 or f16; auto (default): f16 for weights of int8 and int4, "
          "otherwise f32")
      ->option_text("auto|f32|f16");
}

CLI::Option* add_threads_option(CLI::App& app, int& threads) {
  return add_number(app, "-t,--threads", threads, 0, EngineOptions::kMaxThreads,
                    "Number of threads, which never changes a result; 0: one per core, but fewer "
                    "for small models");
}

CLI::Option* add_file(CLI::App& app, const std::string& names, std::string& file,
                      const std::string& help) {
  return app.add_option(names, file, help)->option_text("FILE")->check([](const auto& name) {
    return name.empty() ? "expected a file, found ''" : "";
  });
}

CLI::Option* add_text_option(CLI::App& app, std::string& file) {
  return add_file(app, "--text", file,
                  "The text to measure perplexity on (default: built-in short stories)");
}

}  // namespace gpt2::cli
