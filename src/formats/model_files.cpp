#include "formats/model_files.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/paths.h"
#include "base/system/files.h"
#include "base/text.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFetch = "download the model that it was made from";
constexpr std::string_view kAgain = "download the weights again";
constexpr std::string_view kMerge =
    "merge it with 'accelerate merge-weights DIR NEW' of its directory";
constexpr std::string_view kExport = "convert it with llm.c's dev/eval/export_hf.py";
constexpr std::string_view kConvert =
    "convert it with 'transformers-cli convert --model_type gpt2' of transformers 4";
constexpr std::string_view kKeras =
    "convert it with transformers 4: from_pretrained(DIR, from_tf=True).save_pretrained(NEW)";
constexpr std::string_view kFlax =
    "convert it with transformers 4: from_pretrained(DIR, from_flax=True).save_pretrained(NEW)";

// Files that this library does not read. What is recognized by its name is listed with an empty
// `begin`; what may have any name is listed with an empty `end`.
struct ForeignKind {
  std::string_view end;    // of the file's name
  std::string_view begin;  // of the file's content
  std::string_view what;
  std::string_view way_out;
};
constexpr ForeignKind kForeignKinds[] = {
    {".gguf", "GGUF", "a GGUF file of llama.cpp", kFetch},
    {".bin", "lmgg", "a ggml file", kFetch},
    {".bin", {"\6\0\0\0\x17\0TransformerDecoderSpec", 28}, "a model of CTranslate2", kFetch},
    {".bin", "\xc6\xd7\x34\x01", "a model of llm.c", kExport},
    {".bin", "\xc8\xd7\x34\x01", "a tokenizer of llm.c", kExport},
    {".h5", "\x89HDF", "weights of TensorFlow", kKeras},
    {".msgpack", "", "weights of Flax", kFlax},
    {"onnx", "", "an ONNX model", kFetch},
    {".ot", "", "weights of rust-bert", kFetch},
    {".npz", "", "weights of MLX", kFetch},
    {".index", "", "a checkpoint of TensorFlow", kConvert},
    {"pytorch_model_fsdp_0", "", "a sharded checkpoint of FSDP", kMerge},
    {".distcp", "", "a part of a sharded checkpoint of PyTorch", kMerge},
    {".incomplete", "", "an unfinished download", kAgain},
    {".part", "", "an unfinished download", kAgain},
    {".crdownload", "", "an unfinished download", kAgain},
    {".aria2", "", "an unfinished download", kAgain},
    {"", "version https://git-lfs", "a git-lfs pointer", "fetch the weights with 'git lfs pull'"},
    {"", "<!DOCTYPE", "an HTML page", kAgain},
    {"", "<!doctype", "an HTML page", kAgain},
    {"", "<html", "an HTML page", kAgain},
};

[[noreturn]] void refuse(const fs::path& file, const ForeignKind& kind) {
  fail(ErrorCode::unsupported, file.string(), kind.what,
       "; expected HuggingFace's safetensors or PyTorch files: ", kind.way_out);
}

// Returns the first bytes of a file, or "" if it cannot be read, or would wait for a writer.
std::string begin_of(const fs::path& file) {
  std::string bytes(64, '\0');
  try {
    const ReadableFile readable(file);
    if (readable.kind() != ReadableFile::Kind::regular) return "";
    bytes.resize(readable.read(reinterpret_cast<std::byte*>(bytes.data()), bytes.size(), 0));
  } catch (const FileFailure&) {
    return "";
  }
  return bytes;
}

// Returns whether `file` is one of a model's files without weights, by its name. The path of such a
// file stands for the directory that contains it.
bool is_beside_weights(const fs::path& file) {
  const fs::path extension = file.extension();
  const bool is_index = file.stem().extension() == ".index";
  return (extension == ".json" && !is_index) || extension == ".txt" || extension == ".md";
}

constexpr const char* kWeights[] = {"model.safetensors", "model.safetensors.index.json",
                                    "pytorch_model.bin", "pytorch_model.bin.index.json",
                                    "ckpt.pt",           "model.fp16.safetensors"};

// Returns the file of weights in a directory or in memory, or an empty path if there is none.
fs::path weights_in(const fs::path& directory, const FileSource& source) {
  for (const char* name : kWeights) {
    if (source.has(directory / name)) return directory / name;
  }
  return {};
}

// Throws if the file may have the weights of a model, but another name than one that is looked for.
void refuse_name_of_weights(const fs::path& file) {
  constexpr const char* kBegins[] = {"model", "pytorch_model", "ckpt"};
  constexpr const char* kExtensions[] = {".safetensors", ".bin", ".pt", ".pth", ".ckpt"};
  const std::string name = file.filename().string();
  const auto begins = [&](const char* text) { return name.starts_with(text); };
  const auto is = [&](const char* extension) { return file.extension() == extension; };
  if (std::ranges::none_of(kBegins, begins) || std::ranges::none_of(kExtensions, is)) return;
  if (name.find("-of-0") != name.npos) {
    fail(ErrorCode::not_found, file.string(),
         "a shard without the index (... .index.json); download it to the same directory");
  }
  fail(ErrorCode::not_found, file.parent_path().string(),
       "no weights under a usual name; give the path of the file that has them: ", file.string());
}

// Throws if a directory without weights has the files of another program, parts of weights, or
// directories with adapters or checkpoint-N of HuggingFace's Trainer.
void refuse_foreign_directory(const fs::path& directory) {
  constexpr std::string_view kCheckpoint = "checkpoint-";
  std::vector<fs::path> files;
  std::pair<std::size_t, fs::path> newest;
  // In HuggingFace's cache, unfinished downloads lie beside the directory of all models' versions.
  for (const fs::path& place : {directory, directory / "../../blobs"}) {
    std::error_code ignored;  // files can be read even if their directory cannot be listed
    for (fs::directory_iterator file(place, ignored), end; file != end; file.increment(ignored)) {
      files.push_back(file->path());
      const std::string name = files.back().filename().string();
      const auto has = [&](const char* weights) {
        return type_of(files.back() / weights, ignored) == fs::file_type::regular;
      };
      std::size_t step = 0;
      const bool is_checkpoint = name.starts_with(kCheckpoint) &&
                                 read_number(name.substr(kCheckpoint.size()), step) &&
                                 std::ranges::any_of(kWeights, has);
      if (is_checkpoint || has(kAdapterConfig)) newest = std::max(newest, {step, files.back()});
    }
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    for (const ForeignKind& kind : kForeignKinds) {
      const bool has_end = !kind.end.empty() && file.filename().string().ends_with(kind.end);
      if (has_end) refuse_foreign_file(file, begin_of(file));
    }
  }
  std::ranges::for_each(files, refuse_name_of_weights);
  if (newest.second.empty()) return;
  fail(ErrorCode::unsupported, directory.string(),
       "no weights, but directories that have some: give one, such as ", newest.second.string());
}

}  // namespace

ModelFiles find_model_files(const fs::path& path) {
  ModelFiles files{.path = path, .directory = directory_of(path)};
  if (files.directory != path) {
    if (!is_beside_weights(path)) files.weights = path;
    if (!files.weights.empty()) refuse_foreign_file(path, begin_of(path));
  }
  const bool has_adapter = is_there(files.directory / kAdapterConfig);
  if (has_adapter) files.adapter = files.directory / kAdapterConfig;
  if (has_adapter && files.directory != path && path.filename().string().starts_with("adapter_")) {
    files.weights.clear();
  } else if (files.weights.empty()) {
    files.weights = weights_in(files.directory, {});
  }
  if (files.weights.empty() && !has_adapter) refuse_foreign_directory(files.directory);
  files.has_config = is_there(files.config());
  return files;
}

ModelFiles find_model_files(const FileSource& memory) {
  ModelFiles files{.path = "memory", .weights = weights_in({}, memory), .source = memory};
  if (memory.has(kAdapterConfig)) files.adapter = kAdapterConfig;
  files.has_config = memory.has(files.config());
  return files;
}

void refuse_foreign_file(const fs::path& file, std::string_view content) {
  const std::string name = file.filename().string();
  content.remove_prefix(std::min(content.find_first_not_of(" \r\n\t"), content.size()));
  for (const ForeignKind& kind : kForeignKinds) {
    if (kind.begin.empty() ? name.ends_with(kind.end) : content.starts_with(kind.begin)) {
      refuse(file, kind);
    }
  }
}

}  // namespace gpt2
