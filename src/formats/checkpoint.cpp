#include "formats/checkpoint.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/fail.h"
#include "base/file_source.h"
#include "base/json.h"
#include "base/paths.h"
#include "formats/pytorch.h"
#include "formats/safetensors.h"

namespace gpt2 {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxIndexBytes = 64 << 20;
constexpr std::size_t kMaxShards = 1'000;

// With a colon, a name can begin with a drive of Windows.
bool is_plain_file_name(const std::string& name) {
  const bool is_clean = std::none_of(name.begin(), name.end(), [](char c) {
    return c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20;
  });
  return is_clean && !name.empty() && name != "." && name.find("..") == std::string::npos;
}

// Adds the tensors of one file. Throws if the file lacks one of the `expected` tensors.
void add_file(Checkpoint& checkpoint, const fs::path& path, const FileSource& source,
              const std::vector<std::string>& expected = {}) {
  checkpoint.files.push_back(path);
  const Bytes bytes = checkpoint.mappings.emplace_back(source.open(path)).bytes();
  refuse_foreign_file(path, text_of(bytes));
  TensorFile file = is_pytorch(bytes)
                        ? parse_pytorch(bytes, path.string())
                        : TensorFile{.tensors = parse_safetensors(bytes, path.string())};
  for (const std::string& name : expected) {
    if (file.tensors.contains(name)) continue;
    fail(path.string(), "no tensor ", quote(name), ", which the index says is here");
  }
  if (file.tensors.size() > kMaxTensors - checkpoint.tensors.size()) {
    fail(path.string(), "more than ", kMaxTensors, " tensors in all shards");
  }
  checkpoint.tensors.merge(file.tensors);
  if (!file.tensors.empty()) {
    fail(path.string(), "tensor ", quote(file.tensors.begin()->first), " is in another shard too");
  }
  std::move(file.copies.begin(), file.copies.end(), std::back_inserter(checkpoint.copies));
  std::move(file.ignored.begin(), file.ignored.end(), std::back_inserter(checkpoint.ignored));
  checkpoint.format = std::move(file.format);
  checkpoint.model_args = std::move(file.model_args);
}

void add_shards(Checkpoint& checkpoint, const fs::path& index_file, const FileSource& source) {
  checkpoint.files.push_back(index_file);
  const std::string where = index_file.string();
  const ShardIndex index = parse_shard_index(read_file(index_file, kMaxIndexBytes, source), where);
  for (const auto& [shard, expected] : index) {
    const fs::path path = index_file.parent_path() / path_of(shard);
    if (!source.has(path)) {
      fail(ErrorCode::not_found, where, "shard ", quote(shard),
           " is missing; download it to the same directory");
    }
    add_file(checkpoint, path, source, expected);
  }
  checkpoint.format += ", " + std::to_string(index.size()) + " shards";
}

}  // namespace

Checkpoint Checkpoint::open(const ModelFiles& files) {
  if (files.weights.empty()) {
    fail(ErrorCode::not_found, files.path.string(),
         "no weights; expected model.safetensors, pytorch_model.bin, an index of either's shards "
         "(... .index.json) or ckpt.pt");
  }
  Checkpoint checkpoint;
  if (files.weights.extension() == ".json") {
    add_shards(checkpoint, files.weights, files.source);
  } else {
    add_file(checkpoint, files.weights, files.source);
  }
  return checkpoint;
}

ShardIndex parse_shard_index(std::string_view text, std::string_view where) {
  const auto document = parse_json(text, where);
  const JsonFields map =
      JsonFields(document.root, std::string(where)).required_object("weight_map");
  ShardIndex index;
  for (const auto& [tensor, shard] : map.object().items()) {
    if (!shard.is_string()) fail(where, "the shard of ", quote(tensor), " is not a string");
    const auto& name = shard.get_ref<const std::string&>();
    if (!is_plain_file_name(name)) {
      fail(where, "shard ", quote(name), " is not the plain name of a file beside the index");
    }
    index[name].push_back(tensor);
  }
  if (index.empty()) fail(map.where(), "names no shard");
  if (index.size() > kMaxShards) {
    fail(where, index.size(), " shards; expected at most ", kMaxShards);
  }
  return index;
}

}  // namespace gpt2
