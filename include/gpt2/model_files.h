#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Where the files of a model are: under a name on the disk, or in memory.

namespace [[gnu::visibility("default")]] gpt2 {

/// Returns the path of the model with this name, for Model::load and Tokenizer::load. The command
/// finds the model of -m in this way. The name may be
///
///   - a path: of a directory, or of a file of weights or a config.json in one;
///   - a name: the function searches ./models, then the models of the installation or the source
///     tree that the running program or the shared library belongs to (PREFIX/share/gpt2/models if
///     one of them is in PREFIX/bin or PREFIX/lib), then in the directory $GPT2_MODELS;
///   - the name of a model in the HuggingFace cache, with or without its owner ("gpt2" or
///     "openai-community/gpt2") and with or without a revision ("gpt2@main", "gpt2@607a30d...").
///     The cache is $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
///     $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub: the first that is set.
///
/// The first place that has a config.json, nanoGPT's ckpt.pt or an adapter_config.json wins, so a
/// directory of the same name without a model does not hide it. The name of the bundled model,
/// "gpt2-stories", is looked for in ./models and in the working directory last. A name that begins
/// with '/', './' or '../' can only be a path; the other places are not searched for it.
///
/// The path of the installation is not compiled into the library. A program that is linked with the
/// static library and is not in PREFIX/bin must therefore pass the path of an installed model, or
/// its user must set $GPT2_MODELS. `pkg-config --variable=modelsdir gpt2` prints the directory of
/// the installed models; in CMake, find_package(gpt2) sets gpt2_MODELS_DIR to it.
///
/// The static command has the bundled model inside it. Its path is /proc/self/exe/gpt2-stories.
///
/// Returns a path that exists. Downloads nothing, and reads no files except the references in the
/// HuggingFace cache. Throws Error: not_found, if no place has it, with the places;
/// invalid_file if something of that name exists but cannot be read (no permission, a device);
/// invalid_argument for an empty name.
///
/// Example:
///   const std::filesystem::path path = find_model("openai-community/gpt2");
///   const Model model = Model::load(path);
///   const Tokenizer tokenizer = Tokenizer::load(path);
[[nodiscard]] std::filesystem::path find_model(const std::string& name);

/// Returns the names that find_model() finds, in alphabetical order: "gpt2-stories", or
/// "OWNER/NAME" for a model in the HuggingFace cache. Leaves out paths, and directories that cannot
/// be read.
///
/// Example:
///   for (const std::string& name : model_names()) std::cout << name << '\n';
[[nodiscard]] std::vector<std::string> model_names();

/// Where the side files of a model are.
struct ModelPlaces {
  std::filesystem::path config;     ///< for GenerationConfig::load
  std::filesystem::path tokenizer;  ///< for Tokenizer::load
};

/// Returns where the config and the tokenizer of the model at `path` are. For a whole model, both
/// are `path`. An adapter of PEFT has the config of its base, and the tokenizer of its base unless
/// it has its own. The base is the model with the name `base` or, if that is empty, the one that
/// adapter_config.json names; find_model() finds it. (Tokenizer::load and GenerationConfig::load
/// call this function, without a `base`.)
///
/// Throws the errors of find_model(), and Error(invalid_file) for an unusable adapter_config.json.
///
/// Example:
///   const ModelPlaces places = find_places("my-adapter", "models/gpt2");
///   const Tokenizer tokenizer = Tokenizer::load(places.tokenizer);
[[nodiscard]] ModelPlaces find_places(const std::filesystem::path& path,
                                      const std::string& base = {});

/// A model file in memory, for programs that keep a model among their own data. Model::load and
/// Tokenizer::load accept a list of such files instead of a directory.
///
/// The bytes may begin at any address. They give the same results at every address, but matrices at
/// an address that is not a multiple of 64 may be read more slowly.
///
/// A plain value: copies refer to the same bytes, and threads may read one at the same time.
///
/// Example:
///   const auto file_of = [](std::string_view name, std::string_view content) {
///     return MemoryFile{.name = name, .bytes = std::as_bytes(std::span(content))};
///   };
///   const MemoryFile files[] = {file_of("config.json", R"({"model_type": "gpt2"})"),
///                               file_of("model.safetensors", "the bytes of that file")};
struct MemoryFile {
  /// The name that the file would have in a model's directory, such as "config.json",
  /// "model.safetensors", "vocab.json" or "merges.txt". Error messages use this name. It has to
  /// live only until the call that reads the file returns.
  std::string_view name;

  /// The content. It must not change while it is in use. Model::load and Tokenizer::load document
  /// how long they use it.
  std::span<const std::byte> bytes;

  /// Keeps the bytes alive: it owns, for example, the vector that contains them. A model that uses
  /// the bytes in place holds a copy of this pointer. Empty: the caller keeps the bytes alive.
  std::shared_ptr<const void> owner = {};
};

}  // namespace gnu::visibility("default")]]gpt2
