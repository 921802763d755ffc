#include "formats/model_files.h"

#include <system_error>

#include "base/fail.h"
#include "base/paths.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

bool is_gguf(const fs::path& file) { return file.extension() == ".gguf"; }

[[noreturn]] void refuse_gguf(const fs::path& file) {
  fail(ErrorCode::unsupported, file.string(),
       "a GGUF file of llama.cpp: gpt2.cpp reads HuggingFace's safetensors and PyTorch files; "
       "download the model that it was made from");
}

// Returns whether `file` is one of a model's files without weights, by its name. The path of such a
// file stands for the directory that contains it.
bool is_beside_weights(const fs::path& file) {
  const fs::path extension = file.extension();
  const bool is_index = file.stem().extension() == ".index";
  return (extension == ".json" && !is_index) || extension == ".txt" || extension == ".md";
}

// Returns the file of weights in a directory or in memory, or an empty path if there is none.
// Throws Error(unsupported) if the directory has only weights in a GGUF file.
fs::path weights_in(const fs::path& directory, const FileSource& source = {}) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json", "ckpt.pt"}) {
    if (source.has(directory / name)) return directory / name;
  }
  if (source.is_memory()) return {};
  std::error_code ignored;  // files can be read even if their directory cannot be listed
  for (fs::directory_iterator file(directory, ignored), end; file != end; file.increment(ignored)) {
    if (is_gguf(*file)) refuse_gguf(*file);
  }
  return {};
}

}  // namespace

ModelFiles find_model_files(const fs::path& path) {
  ModelFiles files{.path = path, .directory = directory_of(path)};
  if (files.directory != path) {
    if (is_gguf(path)) refuse_gguf(path);
    if (!is_beside_weights(path)) files.weights = path;
  }
  if (files.weights.empty()) files.weights = weights_in(files.directory);
  files.has_config = is_there(files.config());
  return files;
}

ModelFiles find_model_files(const FileSource& memory) {
  ModelFiles files{.path = "memory", .weights = weights_in({}, memory), .source = memory};
  files.has_config = memory.has(files.config());
  return files;
}

}  // namespace gpt2
