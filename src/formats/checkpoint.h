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

/// The weights of a model in any supported format: a table of names and of views into the mapped
/// files. Nothing is converted. A Checkpoint can be moved, but not copied. Moving it keeps the
/// addresses of the tensors.
///
/// A checkpoint of nanoGPT has model_args instead of a config.json.
struct Checkpoint : TensorFile {
  /// Opens the files of weights. Recognizes the format of each file by its content. Throws Error.
  [[nodiscard]] static Checkpoint open(const ModelFiles& files);

  std::vector<std::filesystem::path> files;  ///< the files that were read; an index comes first
  std::vector<MappedFile> mappings;          ///< the files that the tensors point into
};

/// Maps the name of each shard to the names of the tensors that it contains according to the index.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

/// Reads the text of HuggingFace's *.index.json. Throws Error(invalid_file), whose message begins
/// with `where`, if the text has another schema, if a shard is not the plain name of a file in the
/// directory of the index, or if the index has no shards or more than a thousand.
[[nodiscard]] ShardIndex parse_shard_index(std::string_view text, std::string_view where);

}  // namespace gpt2
