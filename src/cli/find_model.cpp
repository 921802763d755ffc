#include "cli/find_model.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "cli/args.h"

namespace gpt2::cli {
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

bool is_model_directory(const fs::path& path) { return file_exists(path / "config.json"); }

// The value of an environment variable; empty where it is not set.
fs::path environment(const char* name) {
  const char* const value = std::getenv(name);
  const std::string text = value == nullptr ? "" : value;
  if (!text.starts_with("~/")) return text;
  const char* const home = std::getenv("HOME");
  return fs::path(home == nullptr ? "" : home) / text.substr(2);
}

// The directories that hold models, each under its name.
std::vector<fs::path> model_directories() {
  std::vector<fs::path> places = {"models"};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) {
    // As it is installed, and built in build/ or build/PRESET/.
    for (const fs::path place : {GPT2_DATA_DIR "/models", "../models", "../../models"}) {
      const fs::path path = (program / place).lexically_normal();
      if (!fs::equivalent(path, "models", error)) places.push_back(path);
    }
  }
  if (const fs::path own = environment("GPT2_MODELS"); !own.empty()) places.push_back(own);
  return places;
}

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
  return environment("HOME") / ".cache/huggingface/hub";
}

// Whether `text` below a directory leads to something inside it.
bool stays_below(const std::string& text) {
  return !text.empty() && !text.starts_with('/') && text.find("..") == std::string::npos &&
         text.find('\0') == std::string::npos;
}

// The names under which the hub has had a model: it gave owners to the first ones later on.
std::vector<std::string> aliases(const std::string& name) {
  std::vector<std::string> names = {name};
  for (const std::string owner : {"openai-community/", "distilbert/"}) {
    if (name.find('/') == std::string::npos) names.push_back(owner + name);
    if (name.starts_with(owner)) names.push_back(name.substr(owner.size()));
  }
  return names;
}

// Where `model` may be in the cache. NAME is in models--NAME, its '/' made "--": refs/REVISION
// there holds the name of a directory in snapshots/.
std::vector<fs::path> snapshots(const fs::path& cache, const std::string& model) {
  const std::size_t at = std::min(model.find('@'), model.size());
  const std::string name = model.substr(0, at);
  const std::string revision = at < model.size() ? model.substr(at + 1) : "main";
  if (!stays_below(name) || !stays_below(revision)) return {};
  std::vector<fs::path> found;
  for (std::string alias : aliases(name)) {
    if (const std::size_t slash = alias.find('/'); slash != std::string::npos) {
      alias.replace(slash, 1, "--");
    }
    const fs::path repository = cache / ("models--" + alias);
    const fs::path ref = repository / "refs" / revision;
    std::string commit = revision;
    if (file_exists(ref)) std::ifstream(ref) >> std::setw(128) >> commit;
    if (stays_below(commit)) found.push_back(repository / "snapshots" / commit);
  }
  return found;
}

// The file may be of weights, an index of them, or one that merely lies beside them.
ModelPath at_file(const fs::path& file) {
  const fs::path directory = file.has_parent_path() ? file.parent_path() : ".";
  const bool is_other = (file.extension() == ".json" && file.stem().extension() != ".index") ||
                        (file.extension() == ".txt" && is_model_directory(directory));
  return {directory, is_other ? directory : file};
}

}  // namespace

ModelPath find_model(const std::string& model) {
  if (model.empty()) throw UsageError("the model's name is empty");
  const fs::path path = model;
  // A bare name without an extension is no file: in the build directory, "gpt2" is the command.
  if (file_exists(path) && (path.has_parent_path() || path.has_extension())) return at_file(path);

  const std::vector<fs::path> places = model_directories();
  const fs::path cache = huggingface_cache();
  std::vector<fs::path> directories = {path};
  for (const fs::path& place : places) directories.push_back(place / path);
  for (const fs::path& snapshot : snapshots(cache, model)) directories.push_back(snapshot);
  // Where none has a config.json, whoever loads the first one says what is missing.
  for (const auto is_found : {is_model_directory, directory_exists}) {
    const auto found = std::find_if(directories.begin(), directories.end(), is_found);
    if (found != directories.end()) return {*found, *found};
  }
  std::string looked;
  for (const fs::path& place : places) looked += place.string() + ", ";
  const bool is_bundled = model == GPT2_BUNDLED_MODEL;
  fail(ErrorCode::not_found, "no model '" + model + (is_bundled ? "', the bundled one" : "'"),
       "no such directory, nor such a name in ", looked, "or the HuggingFace cache ",
       cache.string(), "; $GPT2_MODELS can add a place; ",
       is_bundled ? "it lies in models of gpt2's sources; -m names another one"
                  : "'hf download NAME' fetches a model, and so does tools/download_model.sh of "
                    "the sources");
}

}  // namespace gpt2::cli
