#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/fail.h"
#include "base/file_source.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/system/process.h"
#include "base/text.h"
#include "formats/model_files.h"
#include "gpt2/model_files.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxAdapterConfig = 16 << 20;  // bytes

bool directory_exists(const fs::path& path) {
  std::error_code error;
  return type_of(path, error) == fs::file_type::directory;
}

bool file_exists(const fs::path& path) {
  std::error_code error;
  return type_of(path, error) == fs::file_type::regular;
}

// A ckpt.pt is a checkpoint of nanoGPT, which needs no config.json, and an adapter has that of its
// base.
bool is_model_directory(const fs::path& path) {
  const auto has = [&](const char* name) { return file_exists(path / name); };
  return has("config.json") || has("ckpt.pt") || has(kAdapterConfig);
}

bool has_tokenizer_files(const fs::path& directory) {
  return std::ranges::any_of(kTokenizerFiles,
                             [&](const char* name) { return is_there(directory / name); });
}

// Returns the text with the values of environment variables in the place of $NAME and ${NAME}. Like
// Python's os.path.expandvars, leaves those alone that are not set.
std::string with_variables(std::string text) {
  constexpr const char* kName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  for (std::size_t at = 0; (at = text.find('$', at)) != text.npos;) {
    const bool has_braces = text[at + 1] == '{';
    const std::size_t begin = at + 1 + has_braces;
    const std::size_t end = std::min(text.find_first_not_of(kName, begin), text.size());
    const std::string value = path_in_environment(text.substr(begin, end - begin).c_str()).string();
    if (!value.empty()) text.replace(at, end - at + (has_braces && text[end] == '}'), value);
    at += std::max(value.size(), std::size_t{1});
  }
  return text;
}

// Returns the path in an environment variable, with the values of other variables in it, and with
// "~" at its beginning replaced by the home directory. Returns an empty path if the variable is not
// set, or if there is no home directory.
fs::path environment(const char* name) {
  return with_home(path_of(with_variables(path_in_environment(name).string())));
}

// Returns the directories in which to look for a subdirectory that has the name of the model. Each
// is in the list once, although several ways may lead to it.
std::vector<fs::path> model_directories() {
  std::vector<fs::path> places = {"models"};
  const auto add = [&places](const fs::path& place) {
    const auto is_same = [&place](const fs::path& other) { return same_file(place, other); };
    if (std::ranges::none_of(places, is_same)) places.push_back(place);
  };
  if (is_there(fs::path(kBuiltInDirectory) / GPT2_BUNDLED_MODEL)) add(kBuiltInDirectory);
  // The first two are for what is installed in bin/, lib/ or lib/x86_64-linux-gnu/ (GPT2_DATA_DIR
  // is relative) or is a part of another project (it is absolute), the third for a library that has
  // a model beside it, as in a wheel, and the others for what was built in build/ or build/PRESET/.
  const fs::path data = fs::path(GPT2_DATA_DIR) / "models";
  for (const fs::path& file : {program_file(), library_file()}) {
    for (const fs::path& place :
         {data, ".." / data, fs::path("models"), fs::path("../models"), fs::path("../../models")}) {
      if (!file.empty()) add((file.parent_path() / place).lexically_normal());
    }
  }
  if (const fs::path own = environment("GPT2_MODELS"); !own.empty()) add(own);
  return places;
}

// Returns an empty path if there is no home directory and no other place is set.
fs::path huggingface_cache() {
  constexpr std::pair<const char*, const char*> kPlaces[] = {
      {"HF_HUB_CACHE", ""},
      {"HUGGINGFACE_HUB_CACHE", ""},
      {"HF_HOME", "hub"},
      {"XDG_CACHE_HOME", "huggingface/hub"},
  };
  for (const auto& [variable, below] : kPlaces) {
    if (const fs::path place = environment(variable); !place.empty()) return place / below;
  }
  const fs::path home = home_directory();
  return home.empty() ? home : (home / ".cache/huggingface/hub").make_preferred();
}

// Returns whether `text`, appended to the path of a directory, leads to something inside it. On
// Windows, a path that begins with a drive or a backslash does not.
bool stays_below(const std::string& text) {
  return !text.empty() && !path_of(text).has_root_path() && text.find("..") == std::string::npos &&
         text.find('\0') == std::string::npos;
}

// Returns all names of a model on the hub. The first models, such as "gpt2", had no owner at first,
// so the cache may have them with or without one.
std::vector<std::string> aliases(const std::string& name) {
  std::vector<std::string> names = {name};
  for (const std::string owner : {"openai-community/", "distilbert/"}) {
    if (name.find('/') == std::string::npos) names.push_back(owner + name);
    if (name.starts_with(owner)) names.push_back(name.substr(owner.size()));
  }
  return names;
}

// Returns the directories of the cache that may contain `model`. The cache stores the model NAME in
// models--NAME, with '/' replaced by "--". The file refs/REVISION in that directory contains the
// name of a directory in snapshots/.
std::vector<fs::path> snapshots(const fs::path& cache, const std::string& model) {
  const std::size_t at = std::min(model.find('@'), model.size());
  const std::string name = model.substr(0, at);
  const std::string revision = at < model.size() ? model.substr(at + 1) : "main";
  if (cache.empty() || !stays_below(name) || !stays_below(revision)) return {};
  std::vector<fs::path> found;
  for (std::string alias : aliases(name)) {
    if (const std::size_t slash = alias.find('/'); slash != std::string::npos) {
      alias.replace(slash, 1, "--");
    }
    const fs::path repository = cache / path_of("models--" + alias);
    const fs::path ref = repository / "refs" / path_of(revision);
    std::string commit = revision;
    if (file_exists(ref)) commit = read_file(ref, 128);
    commit.resize(std::min(commit.find_first_of("\r\n"), commit.size()));
    if (stays_below(commit)) found.push_back(repository / "snapshots" / path_of(commit));
  }
  return found;
}

// Throws an Error with the reason if something exists at `path` but cannot be read as a model.
void require_readable(const fs::path& path) {
  if (!is_there(path)) return;
  const bool is_directory = directory_of(path) == path;
  // Access to the files in a directory needs a separate permission.
  if (is_directory) static_cast<void>(is_there(path / "config.json"));
}

// Returns whether `path` is certainly a path, and not a name to look for in other places.
bool is_explicit(const fs::path& path) {
  const std::string first = path.begin()->string();
  return path.has_root_path() || first == "." || first == "..";
}

// Returns base_model_name_or_path.
std::string name_of_base(const ModelFiles& files) {
  constexpr std::size_t kMaxName = 1024;  // bytes
  constexpr const char* kKey = "base_model_name_or_path";
  const std::string where = files.adapter.string();
  const std::string text = read_file(files.adapter, kMaxAdapterConfig, files.source);
  const auto document = parse_json(text, where);
  const JsonFields config(document.root, where);
  std::string name = config.required_string(kKey);
  if (name.size() > kMaxName) config.refuse(kKey, "at most 1024 bytes");
  return name;
}

// Throws Error(not_found), with the places that were searched.
[[noreturn]] void refuse(const fs::path& model, const std::vector<fs::path>& places,
                         const fs::path& cache) {
  if (is_explicit(model)) {
    fail(ErrorCode::not_found, model.string(),
         "no such file or directory; expected a model's directory or a file of weights");
  }
  std::string searched = "the working directory";
  for (const fs::path& place : places) searched += ", " + place.string();
  searched += environment("GPT2_MODELS").empty() ? ", $GPT2_MODELS (not set)" : " ($GPT2_MODELS)";
  const std::string name = model.string();
  std::string advice;
  if (name == GPT2_BUNDLED_MODEL) {
    advice =
        "set $GPT2_MODELS to what 'pkg-config --variable=modelsdir gpt2' prints if this program is "
        "not installed with it, or ";
  } else {
    const bool is_short = name.size() <= 100 && stays_below(name);
    advice = concat("fetch it with 'gpt2 download ", is_short ? name : "NAME", "', or ");
  }
  fail(ErrorCode::not_found, concat("no model ", quote(name, 256)), advice,
       "give a path; it is not in ", searched,
       cache.empty() ? concat(" (no HuggingFace cache: $", kHomeVariable, " is not set)")
                     : concat(" or the HuggingFace cache ", cache.string()));
}

}  // namespace

fs::path find_model(const std::string& name) {
  if (name.empty()) reject("the model's name is empty");
  const fs::path path = path_of(name);
  refuse_nul(path);
  // A bare name without an extension is not used as a file: in the build directory, "gpt2" is the
  // executable, and not the model.
  if (file_exists(path) && (path.has_parent_path() || path.has_extension())) return path;

  const std::vector<fs::path> places = model_directories();
  const fs::path cache = huggingface_cache();
  std::vector<fs::path> directories = {path};
  if (!is_explicit(path)) {
    for (const fs::path& place : places) directories.push_back(place / path);
    for (const fs::path& snapshot : snapshots(cache, name)) directories.push_back(snapshot);
  }
  // The bundled model is used if none is named. What the working directory happens to have must not
  // take its place, so these two directories are searched last, models/ first.
  if (path == GPT2_BUNDLED_MODEL) {
    std::swap(directories[0], directories[1]);
    std::rotate(directories.begin(), directories.begin() + 2, directories.end());
  }
  for (const fs::path& directory : directories) {
    if (is_model_directory(directory)) return directory;
  }
  // None of the directories is a model. If one of them exists, return it, because the loader then
  // reports which files it lacks.
  for (const fs::path& directory : directories) {
    std::error_code error;
    if (directory == path || fs::exists(fs::symlink_status(directory, error))) {
      require_readable(directory);
    }
    if (directory_exists(directory)) return directory;
  }
  refuse(path, places, cache);
}

std::vector<std::string> model_names() {
  std::set<std::string> names;
  const auto names_in = [](const fs::path& directory) {
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator at(directory, error); !error && at != end(at);
         at.increment(error)) {
      found.push_back(at->path().filename().string());
    }
    return found;
  };
  std::vector<fs::path> places = model_directories();
  places.emplace_back(".");
  for (const fs::path& place : places) {
    std::vector<std::string> found = names_in(place);
    found.push_back(GPT2_BUNDLED_MODEL);  // which may be inside the program
    for (const std::string& name : found) {
      if (is_model_directory(place / path_of(name))) names.insert(name);
    }
  }
  const fs::path cache = huggingface_cache();
  for (const std::string& repository : names_in(cache)) {
    constexpr std::string_view kBegin = "models--";
    if (!repository.starts_with(kBegin)) continue;
    std::string name = repository.substr(kBegin.size());
    if (const std::size_t owner = name.find("--"); owner != name.npos) name.replace(owner, 2, "/");
    try {
      if (std::ranges::any_of(snapshots(cache, name), is_model_directory)) names.insert(name);
    } catch (const Error&) {  // a ref that cannot be read names no model
    }
  }
  return {names.begin(), names.end()};
}

ModelFiles find_base(const ModelFiles& files, const std::string& base) {
  const std::string where = files.adapter.string();
  const std::string name = base.empty() ? name_of_base(files) : base;
  try {
    const fs::path beside = files.directory / path_of(name);
    const bool is_beside = base.empty() && name.starts_with('.') && !files.source.is_memory();
    ModelFiles found = find_model_files(is_beside && is_there(beside) ? beside : find_model(name));
    if (!found.is_adapter("")) return found;
    fail(ErrorCode::unsupported, found.path.string(), "is an adapter, too; expected a whole model");
  } catch (const Error& error) {
    fail(error.code(), where, "its base cannot be loaded: ", error.what(),
         base.empty() ? "; name it with --base or the option 'base'" : "");
  }
}

ModelPlaces find_places(const fs::path& path, const std::string& base) {
  const fs::path directory = directory_of(path);
  if (!is_there(directory / kAdapterConfig)) return {path, path};
  const ModelFiles files = find_model_files(path);
  if (!files.is_adapter(base)) return {path, path};
  const fs::path of_base = find_base(files, base).path;
  return {of_base, has_tokenizer_files(directory) ? path : of_base};
}

fs::path tokenizer_directory(const fs::path& path) {
  // An adapter's own tokenizer needs no base.
  return directory_of(has_tokenizer_files(directory_of(path)) ? path : find_places(path).tokenizer);
}

}  // namespace gpt2
