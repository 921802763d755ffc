#include "cli/args.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "cli/console.h"

namespace gpt2::cli {
namespace {

// The edit distance: how many letters must be inserted, removed, replaced or swapped with their
// neighbour to turn `a` into `b`.
std::size_t edits(std::string_view a, std::string_view b) {
  // count[i][j] is the distance between the first i letters of a and the first j letters of b.
  std::vector count(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      count[i][j] = i + j;
      if (i == 0 || j == 0) continue;
      count[i][j] = std::min(
          {count[i - 1][j] + 1, count[i][j - 1] + 1, count[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        count[i][j] = std::min(count[i][j], count[i - 2][j - 2] + 1);
      }
    }
  }
  return count.back().back();
}

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

// Rewords CLI11's message about two options of which only one may be given: "--a excludes --b"
// could also mean that --b is ignored.
std::string conflict(std::string message) {
  const std::string verb = " excludes ";
  const std::size_t at = message.find(verb);
  if (at != std::string::npos) message.replace(at, verb.size(), " cannot be combined with ");
  return message + ": give only one of them";
}

// Spells -n=5 as --max-new-tokens=5, because CLI11 would leave the '=' in the value. A word that
// follows an option that takes a value is that value and stays as it is.
void spell_out(const CLI::App& app, std::span<std::string> words) {
  const auto takes_value = [&](const std::string& word) {
    const CLI::Option* const option = app.get_option_no_throw(word);
    return word.starts_with('-') && option != nullptr && option->get_items_expected_min() > 0;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string& word = words[i];
    const bool is_value = i > 0 && takes_value(words[i - 1]);
    if (is_value || !word.starts_with('-') || word.find('=') != 2) continue;
    const CLI::Option* const option = app.get_option_no_throw(word.substr(0, 2));
    if (option != nullptr) word.replace(0, 2, option->get_name());
  }
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> names) {
  const auto distance = [word](std::string_view name) {
    return word.size() > 2 && name.starts_with(word) ? 0 : edits(word, name);
  };
  const auto is_far = [&](std::string_view name) { return distance(name) > name.size() / 3; };
  const auto name = std::ranges::min_element(
      names, {}, [&](std::string_view n) { return std::pair(is_far(n), distance(n)); });
  return is_far(*name) ? "" : *name;
}

void parse(CLI::App& app, Arguments arguments) {
  app.get_formatter()->column_width(28);
  app.set_help_flag("-h,--help", "Print this and exit");
  app.allow_extras();
  const std::span options(arguments.begin(), std::ranges::find(arguments, "--"));
  spell_out(app, options);
  // CLI11 would take the argument after "--stop=" as its value, so refuse "--stop=" here.
  for (const std::string& word : options) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_bare = word == name + '=' && app.get_option_no_throw(name) != nullptr;
    if (is_bare) throw UsageError(name, "nothing follows the '='");
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 expects the last argument first
    app.parse(std::move(arguments));
  } catch (const CLI::Success&) {
    write_stdout(app.help());
    throw;
  } catch (const CLI::ArgumentMismatch& error) {
    throw UsageError(mismatch(app, error.what()));
  } catch (const CLI::ExcludesError& error) {
    throw UsageError(conflict(error.what()));
  }
  std::vector<std::string> names;
  // A positional argument that is optional is a text or a FILE; quantize's MODEL and OUT are
  // required.
  bool takes_text = false;
  const char* instead = ": name a model with -m";
  for (const CLI::Option* option : app.get_options()) {
    names.push_back(option->get_name());
    if (!option->get_positional()) continue;
    takes_text = !option->get_required() && names.back() != "FILE";
    instead = takes_text ? ": put a text of several words in quotes" : "";
  }
  bool options_ended = false;
  for (const std::string& extra : app.remaining()) {
    if (extra == "--") {
      if (std::exchange(options_ended, true)) {
        throw UsageError("unexpected argument '--': only the first -- ends the options");
      }
      continue;
    }
    if (!extra.starts_with('-')) throw UsageError("unexpected argument '" + extra + "'" + instead);
    const std::string name = nearest(extra.substr(0, extra.find('=')), names);
    const char* const end = name == extra ? ", before the --?)" : "?)";
    const char* const advice = takes_text ? "; a text that begins with a dash goes after --" : "";
    throw UsageError("unknown option '" + extra + "'" +
                     (name.empty() ? advice : " (did you mean " + name + end));
  }
}

CLI::Option* add_switch(CLI::App& app, const std::string& name, bool& value,
                        const std::string& help) {
  return app.add_flag(name, value, help)->disable_flag_override()->option_text(" ");
}

CLI::Option* add_model_option(CLI::App& app, std::string& model) {
  return app
      .add_option("-m,--model", model,
                  "A directory, a file in it, or a name (default: the\nbundled model)")
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
  throw UsageError("--dtype", "expected f32, f16, bf16, int8 or int4, found '" + text + "'");
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
          "Hold keys and values as f32 or f16; auto (default): f16\nfor weights of int8 and int4, "
          "otherwise f32")
      ->option_text("auto|f32|f16");
}

CLI::Option* add_file(CLI::App& app, const std::string& names, std::string& file,
                      const std::string& help) {
  return app.add_option(names, file, help)->option_text("FILE")->check([](const auto& name) {
    return name.empty() ? "expected a file, found ''" : "";
  });
}

CLI::Option* add_text_option(CLI::App& app, std::string& file) {
  return add_file(app, "--text", file,
                  "The text to measure perplexity on (default: built-in\nshort stories)");
}

}  // namespace gpt2::cli
