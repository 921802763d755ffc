#include "formats/checkpoint.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/fail.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "formats/pytorch.h"
#include "formats/safetensors.h"

namespace gpt2 {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxIndexBytes = 64 << 20;
constexpr std::size_t kMaxShards = 1'000;

// A path that cannot even be looked at does not exist either.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_plain_file_name(const std::string& name) {
  const bool is_clean = std::none_of(name.begin(), name.end(), [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  });
  return is_clean && !name.empty() && name != "." && name.find("..") == std::string::npos;
}

// Adds the tensors of one file, among which must be the `expected` ones.
void add_file(Checkpoint& checkpoint, const fs::path& path,
              const std::vector<std::string>& expected = {}) {
  checkpoint.files.push_back(path);
  const Bytes bytes = checkpoint.mappings.emplace_back(path).bytes();
  TensorFile file = is_pytorch(bytes)
                        ? parse_pytorch(bytes, path.string())
                        : TensorFile{.tensors = parse_safetensors(bytes, path.string())};
  for (const std::string& name : expected) {
    if (file.tensors.contains(name)) continue;
    fail(path.string(), "no tensor ", quote(name), ", which the index says is here");
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

void add_shards(Checkpoint& checkpoint, const fs::path& index_file) {
  checkpoint.files.push_back(index_file);
  const std::string where = index_file.string();
  const ShardIndex index = parse_shard_index(read_file(index_file, kMaxIndexBytes), where);
  for (const auto& [shard, expected] : index) {
    const fs::path path = index_file.parent_path() / shard;
    if (!is_there(path)) {
      fail(ErrorCode::not_found, where, "shard ", quote(shard),
           " is missing; download it to the same directory");
    }
    add_file(checkpoint, path, expected);
  }
  checkpoint.format += ", " + std::to_string(index.size()) + " shards";
}

fs::path weights_in(const fs::path& directory) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json", "ckpt.pt"}) {
    if (is_there(directory / name)) return directory / name;
  }
  fail(ErrorCode::not_found, directory.string(),
       "no weights; expected model.safetensors, pytorch_model.bin, an index of either's shards "
       "(... .index.json) or ckpt.pt");
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& directory_or_file) {
  std::error_code none;
  const fs::path path =
      fs::is_directory(directory_or_file, none) ? weights_in(directory_or_file) : directory_or_file;
  Checkpoint checkpoint;
  if (path.extension() == ".json") {
    add_shards(checkpoint, path);
  } else {
    add_file(checkpoint, path);
  }
  return checkpoint;
}

ShardIndex parse_shard_index(std::string_view text, std::string_view where) {
  const nlohmann::json root = parse_json(text, where);
  const JsonFields map = JsonFields(root, std::string(where)).required_object("weight_map");
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
