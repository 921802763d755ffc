#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file_source.h"

namespace gpt2 {

/// The files that a model is read from. find_model_files() chooses them once, before any file is
/// read, and only by their names, so that all readers agree on the kind of model in a directory.
struct ModelFiles {
  std::filesystem::path path;            ///< as the caller gave it
  std::filesystem::path directory = {};  ///< `path`, or its parent if it is a file
  std::filesystem::path weights = {};    ///< a file of tensors or an index of shards; may be empty
  std::filesystem::path adapter = {};    ///< the adapter_config.json of PEFT; may be empty
  bool has_config = false;               ///< whether there is a config.json
  FileSource source = {};                ///< where the files are read from

  [[nodiscard]] std::filesystem::path config() const { return directory / "config.json"; }

  /// nanoGPT's checkpoints (ckpt.pt) describe their model themselves, so they need no config.json.
  [[nodiscard]] bool is_nanogpt() const { return weights.extension() == ".pt"; }

  /// Whether these are the files of an adapter: if a whole model lies beside it, only if the caller
  /// has named a `base` for it.
  [[nodiscard]] bool is_adapter(const std::string& base) const {
    return !adapter.empty() && (weights.empty() || !base.empty());
  }
};

/// Chooses the files of the model at `path`, which is a directory or a file in one. If `path` is an
/// index of shards (.index.json), or a file other than .json, .txt and .md, it becomes the file of
/// weights. Otherwise this is the first that exists in the directory of model.safetensors,
/// model.safetensors.index.json, pytorch_model.bin, pytorch_model.bin.index.json (HuggingFace's
/// order), ckpt.pt (nanoGPT's name) and model.fp16.safetensors. If none exists, or if `path` is a
/// file of an adapter, `weights` is empty.
///
/// Throws Error: not_found if `path` does not exist, or is a directory that has only weights under
/// another name, or shards without an index; invalid_file if it is neither a file nor a directory,
/// or cannot be examined; unsupported if it is a directory that has only weights of another
/// program, an unfinished download, or no weights but those in its directories.
[[nodiscard]] ModelFiles find_model_files(const std::filesystem::path& path);

/// Chooses the files of a model in memory in the same way. The result has "memory" as its path and
/// an empty directory, so that the path of each file is its name.
[[nodiscard]] ModelFiles find_model_files(const FileSource& memory);

/// Throws Error(unsupported), with what to do, if a file of weights is one that another program
/// reads, such as a GGUF file, or that is no file of weights, such as a web page. Recognizes it by
/// its first bytes, or by its name if these are not distinctive.
void refuse_foreign_file(const std::filesystem::path& file, std::string_view content);

/// Returns the files of the model that the adapter in `files` belongs to: `base` as find_model()
/// finds it or, if it is empty, what adapter_config.json names. A path in the file that begins with
/// '.' may also be relative to the file. Throws the errors of find_model() and find_model_files(),
/// with the adapter's name, and Error(invalid_file) for an unusable adapter_config.json.
/// REQUIRES: files.is_adapter(base).
[[nodiscard]] ModelFiles find_base(const ModelFiles& files, const std::string& base);

/// The config of an adapter, which makes its directory a model's.
inline constexpr const char* kAdapterConfig = "adapter_config.json";

/// The files of tokenizers.
inline constexpr const char* kTokenizerFiles[] = {"spiece.model",
                                                  "tokenizer.json",
                                                  "aitextgen.tokenizer.json",
                                                  "vocab.json",
                                                  "merges.txt",
                                                  "vocab.txt",
                                                  "aitextgen-vocab.json",
                                                  "aitextgen-merges.txt",
                                                  "meta.pkl",
                                                  "tokenizer_config.json",
                                                  "special_tokens_map.json",
                                                  "added_tokens.json"};

/// Returns the directory of the tokenizer that Tokenizer::load(path) reads: that of `path` or, for
/// an adapter without such files, that of its base.
[[nodiscard]] std::filesystem::path tokenizer_directory(const std::filesystem::path& path);

}  // namespace gpt2
