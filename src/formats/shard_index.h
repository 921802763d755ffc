#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpt2 {

/// The files of a sharded checkpoint, and the tensors that each is said to hold.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

/// Reads HuggingFace's model.safetensors.index.json or pytorch_model.bin.index.json. Shards are
/// plain names of files beside it: a name that could lead elsewhere is refused. Throws
/// Error(invalid_file) for that, for another schema, and for an index without shards or with more
/// than a thousand.
[[nodiscard]] ShardIndex read_shard_index(const std::filesystem::path& file);

/// The same from the file's text; `where` names it in messages.
[[nodiscard]] ShardIndex parse_shard_index(std::string_view text, std::string_view where);

}  // namespace gpt2
