#include "cli/options/request_options.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/console.h"
#include "generate/options/option_codec.h"
#include "gpt2/generation_config.h"
#include "requests/answer/own_form.h"
#include "requests/read/completion_request.h"
#include "requests/read/options.h"

namespace gpt2::cli {
namespace {

using nlohmann::json;

// The options whose names are not those of their members.
constexpr std::pair<std::string_view, std::string_view> kOptionNames[] = {
    {"do_sample", "--greedy"},
    {"num_return_sequences", "--samples"},
    {"skip_special_tokens", "--special"},
    {"prompt_lookup", "--draft"},
    {"draft", "--draft"}};

// Returns the option that puts this member into a request.
std::string option_of(std::string_view member) {
  for (const auto& [name, option] : kOptionNames) {
    if (name == member) return std::string(option);
  }
  return option_name(member);
}

// The command's defaults, of which the help shows those that are numbers.
template <class Visitor>
void for_each_default(const Visitor& visit) {
  GenerationOptions defaults = request_defaults();
  for_each_field(defaults, [&](const auto& field, const auto& values) {
    using Codec = OptionCodec<typename std::remove_cvref_t<decltype(field)>::Value>;
    visit(field, Codec::write(values.*field.member));
  });
  visit(kBadWords, Json::array());
}

// Returns the text with the escapes \n, \t and \\ replaced by what they mean.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const bool is_escape = next == 'n' || next == 't' || next == '\\';
    result += next == 'n' ? '\n' : next == 't' ? '\t' : is_escape ? '\\' : text[i];
    if (is_escape) ++i;
  }
  return result;
}

// Puts a word of the command line into the member of a row or, if it is a list, adds it to the
// list.
template <class Row>
void put_word(nlohmann::json& request, const Row& field, const std::string& word) {
  using Codec = OptionCodec<typename Row::Value>;
  const bool has_escapes = std::string_view(field.name) == "stop";
  nlohmann::json& member = request[field.name];
  nlohmann::json value = Codec::parse(has_escapes ? unescaped(word) : word);
  if (!Codec::form(field.range).is_list) {
    member = std::move(value);
  } else if (value.is_object()) {
    member.update(value);
  } else {
    member.push_back(std::move(value));
  }
}

// Adds the option of a row, which puts the member into the request. The help shows the default
// value, which is a number.
template <class Row>
Option& add_row(Options& options, const Row& field, const Json& by_default,
                nlohmann::json& request) {
  using Codec = OptionCodec<typename Row::Value>;
  const OptionForm form = Codec::form(field.range);
  const std::string name = option_name(field.name);
  std::string help = field.help;
  const std::string& value = by_default.text();
  if (form.word == "N" && value != "null") help += concat(" (default ", value, ")");
  if (form.is_list) help += "; may be repeated";
  const auto set = [=, &request](const std::string& word) {
    put_word(request, field, word);
    typename Row::Value read = {};
    if (Codec::read(request[field.name], field.range, read)) return;
    throw UsageError(name, "expected " + form.text + ", found " + quote(word));
  };
  const std::string names = name == "--max-new-tokens" ? "-n," + name : name;
  Option& option = options.add(names, form.word, help, set);
  option.is_repeatable = form.is_list;
  return option;
}

void add_fields(Options& options, OptionRole role, json& request, std::string_view left_out = "") {
  for_each_default([&](const auto& field, const Json& by_default) {
    const bool is_added = field.role == role && field.name != left_out;
    if (is_added) add_row(options, field, by_default, request);
  });
}

// Calls visit(field) for the option with this name that /set can change.
template <class Visitor>
void with_row(const std::string& name, const Visitor& visit) {
  std::string wanted = name;
  std::ranges::replace(wanted, '-', '_');
  bool is_found = false;
  for_each_default([&](const auto& field, const Json&) {
    if (wanted != field.name || field.role == OptionRole::reports) return;
    is_found = true;
    visit(field);
  });
  if (!is_found) reject("no option ", quote(name), ": /set lists the options");
}

}  // namespace

Option& add_number_member(Options& options, const std::string& names, json& request,
                          const std::string& help) {
  std::string member = names.substr(names.find_first_not_of('-'));
  std::ranges::replace(member, '-', '_');
  return options.add(names, "N", help, [member, &request](const std::string& word) {
    request[member] = OptionCodec<double>::parse(word);
  });
}

void add_field(Options& options, std::string_view name, json& request) {
  for_each_default([&](const auto& field, const Json& by_default) {
    if (field.name == name) add_row(options, field, by_default, request);
  });
}

void add_writing_options(Options& options, json& request, bool of_one_text) {
  options.begin_group("How tokens are drawn");
  add_fields(options, OptionRole::draws, request, of_one_text ? "" : "sequence");
  Option& seed = options.at("--seed");
  seed.names = "-s,--seed";
  if (of_one_text) seed.help += "; random: draw a number and print it";
  seed.set = [&request, set = seed.set](const std::string& text) {
    if (text != "random") return set(text);
    request["seed"] = text;
  };
  options
      .add("--greedy", "",
           "Always take the most likely token, as with --temperature 0; then --top-k, --seed and "
           "so on have no effect",
           [&request](const std::string&) { request["do_sample"] = false; })
      .excluded = {"--temperature"};

  options.begin_group("How long the text is");
  add_fields(options, OptionRole::limits_length, request);
  Option& stop = options.at("--stop");
  stop.excluded = {"--tokens"};
  stop.help += "; \\n, \\t and \\\\ mean a line break, a tab and a backslash";
  options.at("--keep").needed = "--overflow";
  options.at("--ignore-eos").excluded = {"--min-new-tokens", "--min-length",
                                         "--exponential-decay-length-penalty"};

  options.begin_group("Less repetition");
  add_fields(options, OptionRole::penalizes, request);
  options.begin_group("Single tokens and their scores");
  add_fields(options, OptionRole::names_tokens, request);
  options.at("--bad-words").excluded = {"--tokens"};
  options
      .add("--special", "", "Write special tokens, too, which the text otherwise leaves out",
           [&request](const std::string&) { request["skip_special_tokens"] = false; })
      .excluded = {"--tokens"};
}

void add_beam_options(Options& options, json& request) {
  for_each_beam_field([&](const auto& field) {
    if (std::string_view(field.name) == "num_return_sequences") return;
    const auto by_default =
        OptionCodec<typename std::remove_cvref_t<decltype(field)>::Value>::write(BeamOptions().*
                                                                                 field.member);
    add_row(options, field, by_default, request);
  });
}

Option& add_samples(Options& options, json& request, const std::string& help) {
  const auto set = [&request](const std::string& text) {
    request["num_return_sequences"] =
        Options::parse_number<std::size_t>("--samples", text, {1, GenerationConfig::kMaxSamples});
  };
  return options.add("--num-return-sequences,--samples", "N", help + " (default 1)", set);
}

void add_hf_defaults(Options& options, bool& has_hf_defaults) {
  options.add_switch("--hf-defaults", has_hf_defaults,
                     "For options not given, use generation_config.json, as HuggingFace's "
                     "generate() does");
}

json hf_defaults_without_beams(const std::filesystem::path& model) {
  json defaults = hf_defaults(model);
  if (defaults.value("num_beams", 1) <= 1) return defaults;
  throw UsageError("--hf-defaults",
                   "num_beams is set in the model's generation config, but this command has no "
                   "beam search by default: leave --hf-defaults out");
}

// Besides the member that the error is about, messages name other members in quotes.
void refuse_request(const RequestError& error, const json& given) {
  std::string message = error.what();
  const std::size_t at = message.find(error.param());
  const bool is_given = given.contains(name_of_table(error.param()));
  if (is_given && at != message.npos) {
    message.replace(at, error.param().size(), option_of(error.param()));
  }
  for (std::size_t begin = 0; (begin = message.find('"', begin)) != message.npos; ++begin) {
    const std::size_t end = message.find('"', begin + 1);
    const std::string name = message.substr(begin + 1, end - begin - 1);
    if (end == message.npos || !(gpt2::is_option(name) || name == "truncate")) continue;
    message.replace(begin, end + 1 - begin, option_of(name));
  }
  if (is_given) throw UsageError(message);
  throw Error(error.code(), message);
}

void set_option(json& request, const std::string& name, const std::string& value) {
  with_row(name, [&](const auto& field) {
    using Codec = OptionCodec<typename std::remove_cvref_t<decltype(field)>::Value>;
    json changed = json::object();
    if (value.find_first_of("[{\"") == 0) {
      changed[field.name] = std::move(parse_json(value, field.name).root);
    } else {
      const bool is_switch = Codec::form(field.range).word.empty();
      put_word(changed, field, is_switch && value.empty() ? "true" : value);
    }
    merge_request(request, changed);
  });
}

void unset_option(json& request, const std::string& name) {
  with_row(name, [&](const auto& field) { request.erase(field.name); });
}

std::string option_values(const json& request, const json& defaults) {
  json values = defaults;
  values.update(request);
  std::string text;
  for (const json& row : json::parse(option_list(/*is_own=*/true, values).text())) {
    if (row["role"] == "searches" || row["role"] == "reports") continue;
    const std::string name = row["name"];
    const json& value = row["default"];
    const std::string shown = value.empty()       ? "none"
                              : value.is_string() ? value.get<std::string>()
                                                  : value.dump();
    text +=
        format("%c %-33s %s\n", request.contains(name) ? '*' : ' ', name.c_str(), shown.c_str());
  }
  return text + "* set by you; /unset OPTION takes it back\n";
}

}  // namespace gpt2::cli
