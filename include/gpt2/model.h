#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/dtype.h"

namespace gpt2 {

struct Transformer;

struct LoadOptions {
  /// `stored` uses the matrices where they lie in the mapped file. Another type converts them once,
  /// in parallel.
  WeightType dtype = WeightType::stored;
};

/// What a model was made of, for people.
struct ModelDescription {
  std::vector<std::filesystem::path> files = {};  ///< read, in this order
  std::string format = {};                        ///< of the weights: "PyTorch zip, 5 shards" ...
  std::size_t tensors = 0;                        ///< of the files, used
  std::map<std::string, std::vector<std::string>> ignored = {};  ///< reason -> names in the files

  /// attention, embeddings, mlp, norms -> types as stored ("BF16", "INT8") -> how many tensors
  std::map<std::string, std::map<std::string, std::size_t>> dtypes = {};

  std::size_t mapped_bytes = 0;     ///< of matrices that are used where they lie in the files
  std::size_t converted_bytes = 0;  ///< of matrices that LoadOptions::dtype had made of them
};

/// The weights of a GPT-2. Immutable and cheap to copy (copies share the weights); any number of
/// threads may use one.
class Model {
 public:
  /// Loads a HuggingFace directory (config.json and weights). `path` may also be a file in it: a file
  /// of weights is loaded itself, any other file of a model stands for its directory.
  ///
  /// The files stay mapped while the model lives and must not change in that time. (If one is cut
  /// short, the process ends by SIGBUS.) Throws Error, which names the file, for files that cannot
  /// be used, and for an unusable GPT2_ISA.
  [[nodiscard]] static Model load(const std::filesystem::path& path,
                                  const LoadOptions& options = {});

  [[nodiscard]] const Config& config() const noexcept;

  /// Weights, counted once where they are shared.
  [[nodiscard]] std::size_t parameter_count() const noexcept;

  /// The bytes of weights that one decoded token reads.
  [[nodiscard]] std::size_t bytes_per_token() const noexcept;

  [[nodiscard]] const ModelDescription& description() const noexcept;

  /// For the library's own use.
  explicit Model(std::shared_ptr<const Transformer> transformer)
      : transformer_(std::move(transformer)) {}
  [[nodiscard]] const std::shared_ptr<const Transformer>& transformer() const noexcept {
    return transformer_;
  }

 private:
  std::shared_ptr<const Transformer> transformer_;
};

}  // namespace gpt2
