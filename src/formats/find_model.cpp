#include <algorithm>
#include <fstream>
#include <iomanip>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/fail.h"
#include "base/paths.h"
#include "base/system/process.h"
#include "gpt2/model_files.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

bool directory_exists(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool file_exists(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// A ckpt.pt is a checkpoint of nanoGPT, which needs no config.json.
bool is_model_directory(const fs::path& path) {
  return file_exists(path / "config.json") || file_exists(path / "ckpt.pt");
}

// Returns whether a directory has any file that could be part of a model.
bool has_model_files(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator file(directory, error), end; file != end; file.increment(error)) {
    for (const char* const extension : {".json", ".safetensors", ".bin", ".pt", ".gguf"}) {
      if (file->path().extension() == extension) return true;
    }
  }
  return false;
}

// Returns the path in an environment variable, with "~" at its beginning replaced by the home
// directory. Returns an empty path if the variable is not set, or if there is no home directory.
fs::path environment(const char* name) { return with_home(path_in_environment(name)); }

// Returns the directories in which to look for a subdirectory that has the name of the model. Each
// is in the list once, although several ways may lead to it.
std::vector<fs::path> model_directories() {
  std::vector<fs::path> places = {"models"};
  const auto add = [&places](const fs::path& place) {
    const auto is_same = [&place](const fs::path& other) { return same_file(place, other); };
    if (std::ranges::none_of(places, is_same)) places.push_back(place);
  };
  if (const fs::path program = program_file().parent_path(); !program.empty()) {
    // The first is for an installed program, the others for one built in build/ or build/PRESET/.
    for (const fs::path place : {GPT2_DATA_DIR "/models", "../models", "../../models"}) {
      add((program / place).lexically_normal());
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
    if (file_exists(ref)) std::ifstream(ref) >> std::setw(128) >> commit;
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

// Returns the path of the place. If the place cannot be read, returns the error message instead,
// which contains the path and the reason.
std::string described(const fs::path& place) {
  try {
    require_readable(place);
  } catch (const Error& error) {
    return error.what();
  }
  return place.string();
}

// Returns whether a text has only characters that names on the hub have.
bool is_plain(std::string_view text) {
  return text.find_first_not_of(
             "-./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz") == text.npos;
}

// Returns whether a model on the hub can have this name, which is NAME or OWNER/NAME.
bool is_hub_name(std::string_view name) {
  constexpr std::size_t kMaxBytes = 96;
  const auto is_part = [](std::string_view part) {
    constexpr std::string_view kOnlyInside = "-.";
    return !part.empty() && kOnlyInside.find(part.front()) == part.npos &&
           kOnlyInside.find(part.back()) == part.npos && part.find('/') == part.npos;
  };
  const std::size_t slash = name.find('/');
  return is_plain(name) && name.size() <= kMaxBytes && name.find("--") == name.npos &&
         name.find("..") == name.npos && is_part(name.substr(0, slash)) &&
         (slash == name.npos || is_part(name.substr(slash + 1)));
}

// Returns what someone who gave this name should know or do.
std::string advice(const fs::path& model) {
  if (model == GPT2_BUNDLED_MODEL) {
    return "it is in models/ of the sources and share/gpt2/models of an installation: give its "
           "path, or another model";
  }
  if (directory_exists(model)) return "the directory ./" + model.string() + " has no model";
  if (file_exists(model)) return "if the file is meant, write ./" + model.string();
  if (const fs::path own = environment("GPT2_MODELS"); !own.empty() && !directory_exists(own)) {
    return "$GPT2_MODELS is not a directory";
  }
  const std::string whole = model.generic_string();
  const std::size_t at = std::min(whole.find('@'), whole.size());
  const std::string name = whole.substr(0, at);
  const std::string revision = whole.substr(std::min(at + 1, whole.size()));
  if (!is_hub_name(name) || !is_plain(revision)) {
    return "a model on the hub is called NAME or OWNER/NAME";
  }
  return concat("'hf download ", name, revision.empty() ? "" : " --revision ", revision,
                "' fetches it if it is on the hub");
}

// Throws Error(not_found).
[[noreturn]] void refuse(const fs::path& model) {
  if (model.string().find('"') != std::string::npos) {
    fail(ErrorCode::not_found, "no model '" + model.string() + "'",
         "the name has a quotation mark; on Windows, leave out the backslash before the closing "
         "one");
  }
  if (is_explicit(model)) {
    fail(ErrorCode::not_found, model.string(),
         "no such file or directory; expected a model's directory or a file of weights");
  }
  if (model == GPT2_BUNDLED_MODEL) {
    fail(ErrorCode::not_found, "no model '" + model.string() + "' (the bundled model)",
         advice(model));
  }
  fail(ErrorCode::not_found, "no model '" + model.string() + "'",
       "not in the working directory, models/, $GPT2_MODELS or the HuggingFace cache; ",
       advice(model));
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
  // reports which files it lacks. However, skip a directory in the working directory that a bare
  // name leads to, if it has no file of a model: it has the name of the model only by chance.
  for (const fs::path& directory : directories) {
    const bool is_given = directory == path;
    std::error_code error;
    if (is_given || fs::exists(fs::symlink_status(directory, error))) require_readable(directory);
    const bool by_chance = is_given && !path.has_parent_path() && !is_explicit(path) &&
                           !has_model_files(directory);
    if (directory_exists(directory) && !by_chance) return directory;
  }
  refuse(path);
}

std::vector<std::string> model_places() {
  std::vector<std::string> places = {"the working directory"};
  for (const fs::path& place : model_directories()) places.push_back(described(place));
  const fs::path cache = huggingface_cache();
  places.push_back(
      cache.empty() ? concat("no HuggingFace cache, because $", kHomeVariable, " is not set")
                    : "the HuggingFace cache " + described(cache));
  return places;
}

}  // namespace gpt2
