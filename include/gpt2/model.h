#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "gpt2/config.h"
#include "gpt2/dtype.h"

namespace gpt2 {

struct Transformer;

struct LoadOptions {
  /// `stored` uses the matrices where they lie in the mapped file. Another type converts them once,
  /// in parallel.
  WeightType dtype = WeightType::stored;
};

/// The weights of a GPT-2. Immutable and cheap to copy (copies share the weights); any number of
/// threads may use one.
class Model {
 public:
  /// Loads a HuggingFace directory (config.json and weights), or the directory of a file given.
  /// The files stay mapped while the model lives and must not change in that time. Throws Error.
  [[nodiscard]] static Model load(const std::filesystem::path& path,
                                  const LoadOptions& options = {});

  [[nodiscard]] const Config& config() const noexcept;

  /// Weights, counted once where they are shared.
  [[nodiscard]] std::size_t parameter_count() const noexcept;

  /// The bytes of weights that one decoded token reads.
  [[nodiscard]] std::size_t bytes_per_token() const noexcept;

  /// For the library's own use.
  explicit Model(std::shared_ptr<const Transformer> transformer);
  [[nodiscard]] const std::shared_ptr<const Transformer>& transformer() const noexcept {
    return transformer_;
  }

 private:
  std::shared_ptr<const Transformer> transformer_;
};

}  // namespace gpt2
