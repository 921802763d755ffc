#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "formats/model_files.h"
#include "formats/tensor_table.h"

namespace gpt2 {

/// The weights of a model, from any format: names and where their bytes lie in the mapped files.
/// Nothing is converted. Move-only; moving keeps the addresses.
///
/// nanoGPT's model_args take the place of a config.json. There, matrices lie as torch.nn.Linear has
/// them, [out, in], instead of as HuggingFace's Conv1D has them, [in, out].
struct Checkpoint : TensorFile {
  /// Opens the files of weights, each by its content. Throws Error.
  [[nodiscard]] static Checkpoint open(const ModelFiles& files);

  std::vector<std::filesystem::path> files;  ///< read, an index before its shards; at least one
  std::vector<MappedFile> mappings;          ///< what the tensors point into
};

/// The files of a sharded checkpoint, and the tensors that each is said to hold.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

/// Reads the text of HuggingFace's ....index.json. Shards are plain names of files beside it: a
/// name that could lead elsewhere is refused. Throws Error(invalid_file), beginning with `where`,
/// for that, for another schema, and for an index without shards or with more than a thousand.
[[nodiscard]] ShardIndex parse_shard_index(std::string_view text, std::string_view where);

}  // namespace gpt2
