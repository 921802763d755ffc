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

/// The weights of a model, from any format: their names, and where their bytes lie in the mapped
/// files. Nothing is converted. Move-only; a move keeps the addresses.
///
/// A checkpoint of nanoGPT has model_args instead of a config.json. Its matrices lie as [out, in],
/// as torch.nn.Linear has them; HuggingFace's Conv1D has them as [in, out].
struct Checkpoint : TensorFile {
  /// Opens the files of weights; recognises the format of each by its content. Throws Error.
  [[nodiscard]] static Checkpoint open(const ModelFiles& files);

  std::vector<std::filesystem::path> files;  ///< what was read: an index comes before its shards
  std::vector<MappedFile> mappings;          ///< the files that the tensors point into
};

/// The files of a sharded checkpoint, and the tensors that each is said to hold.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

/// Reads the text of HuggingFace's *.index.json. Throws Error(invalid_file), beginning with
/// `where`, for another schema, for a shard that is not the plain name of a file beside the index,
/// and for an index without shards or with more than a thousand.
[[nodiscard]] ShardIndex parse_shard_index(std::string_view text, std::string_view where);

}  // namespace gpt2
