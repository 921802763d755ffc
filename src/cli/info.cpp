#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/model.h"
#include "cli/terminal/console.h"
#include "gpt2/error.h"
#include "gpt2/model_files.h"
#include "gpt2/runtime.h"
#include "requests/answer/own_form.h"

namespace gpt2::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kInfoDetails =
    R"(The row "walks" says how the order is chosen in which the weights are read while a text is
written: the fastest one is measured (gpt2 bench shows it), or it is fixed, by GPT2_TUNE=off or
because the isa has only one. No result depends on it.

Examples:
  gpt2 info
  gpt2 info -m openai-community/gpt2 --dtype int8 --json)";

// Returns the CPUs of each thread as Linux and taskset write them: "0-3,8".
std::vector<std::string> lists_of_cpus() {
  std::vector<std::string> lists;
  for (const std::vector<int>& cpus : thread_cpus()) {
    std::string& list = lists.emplace_back();
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      const bool follows = i > 0 && cpus[i] == cpus[i - 1] + 1;
      const bool goes_on = i + 1 < cpus.size() && cpus[i + 1] == cpus[i] + 1;
      if (follows && goes_on) continue;
      if (i > 0) list += follows ? '-' : ',';
      list += std::to_string(cpus[i]);
    }
  }
  return lists;
}

// Adds what is the same for all models.
Json with_machine(Json json) {
  json["isa"] = isa_name();
  json["usable_isas"] = available_isas();
  json["walks"] = measures_walks() ? "measured" : "fixed";
  json["threads"] = thread_count();
  json["threads_from"] = thread_count_source();
  json["thread_cpus"] = lists_of_cpus();
  return json;
}

// Adds the tokenizer. If it cannot be loaded, adds a warning, because the rest of the model can
// still be described.
void add_tokenizer(Json& json, const std::filesystem::path& path) try {
  json["tokenizer"] = nullptr;
  const Tokenizer tokenizer = Tokenizer::load(path);
  json["tokenizer"] = {{"kind", tokenizer.description()}, {"size", tokenizer.size()}};
  for (const auto& file : tokenizer.files()) json["files"].push_back(file.string());
  const std::size_t vocab_size = json["config"]["vocab_size"];
  if (tokenizer.size() == vocab_size) return;
  json["warnings"].push_back(
      concat("the tokenizer has ", tokenizer.size(), " ids, but the model has ", vocab_size, ": ",
             tokenizer.size() < vocab_size
                 ? "the last ids of the model have no text"
                 : "texts that contain the last ids of the tokenizer are refused"));
} catch (const Error& error) {
  json["warnings"].push_back(error.what() + std::string("; gpt2 --tokens needs no tokenizer"));
}

Json describe(const Model& model, const ModelSettings& settings) {
  Json json = {{"model", settings.path.string()}, {"files", model.description().files}};
  json.update(Json::parse(model_json(model).text()));
  json["memory"]["int4_draft_bytes"] = draft_bytes(model);
  add_tokenizer(json, settings.places.tokenizer);
  return json;
}

// Formats a JSON value for people. Strings may come from a file and contain any bytes, so they are
// made printable. `is_inside` puts the items of a list or an object in parentheses.
std::string words(const Json& value, bool is_inside = false) {
  constexpr std::size_t kShown = 8;  // items of a list: all files of a model without shards
  std::string text;
  if (value.is_string()) return printable(value.get_ref<const std::string&>());
  if (value.empty()) return "none";  // null, or a list or an object without items
  if (!value.is_structured()) return value.dump();
  std::size_t shown = 0;
  for (const auto& [key, item] : value.items()) {
    if (!text.empty()) text += ", ";
    if (value.is_array() && shown++ == kShown) {
      text += "and " + std::to_string(value.size() - kShown) + " more";
      break;
    }
    const bool is_size = key.ends_with("_bytes");
    if (value.is_object()) {
      std::string name = key.substr(0, key.size() - (is_size ? 6 : 0));
      if (is_size) std::replace(name.begin(), name.end(), '_', ' ');
      text += words(name) + ' ';
    }
    text += is_size ? format("%.2f MB", 1e-6 * item.get<double>()) : words(item, true);
  }
  return is_inside ? "(" + text + ")" : text;
}

std::string rows(const Json& json) {
  std::string text;
  const auto add = [&](std::string name, const Json& value) {
    std::replace(name.begin(), name.end(), '_', ' ');
    name.resize(13, ' ');
    text += name + words(value) + '\n';
  };
  for (const auto& [name, value] : json.items()) {
    if (name == "warnings" || name == "models") {
      for (const Json& one : value) add(name.substr(0, name.size() - 1), one);
    } else {
      add(name, name == "tokenizer" && value.is_object() ? value["kind"] : value);
    }
  }
  return text;
}

}  // namespace

int info(const Arguments& arguments) {
  ModelSettings settings;
  bool as_json = false;
  Options options("gpt2 info",
                  "Shows a model's files, config, size, memory use and tokenizer; without a model, "
                  "the names of those that are there",
                  kInfoDetails);
  add_model_option(options, settings.name).help = "A directory, a file in it, or a name";
  add_base_option(options, settings.base);
  add_tokenizer_option(options, settings.tokenizer);
  add_dtype_option(options, settings.dtype);
  for (const char* const name : {"--base", "--tokenizer", "--dtype"}) {
    options.at(name).needed = "--model";
  }
  options.add_switch("--json", as_json, "Print one JSON object, with sizes in bytes");
  add_quiet_option(options);
  options.parse(arguments);

  const auto print = [&](const Json& json) {
    write_stdout(as_json ? json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n'
                         : rows(json));
    return 0;
  };
  if (!options.has("--model")) return print(with_machine({{"models", model_names()}}));
  settings.find();
  return print(with_machine(describe(load_model(settings), settings)));
}

}  // namespace gpt2::cli
