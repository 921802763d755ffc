#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/model.h"

namespace gpt2::cli {

/// The model that gpt2 bench measures. It is loaded again for each weight type.
class BenchSubject {
 public:
  /// A model of random weights with the sizes of one that OpenAI published: 124M, 355M, 774M or
  /// 1558M. Throws UsageError for another size.
  [[nodiscard]] static BenchSubject random(const std::string& size);

  /// The model of this name. Throws as find_model and Model::load do.
  [[nodiscard]] static BenchSubject named(const std::string& model);

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Returns the weight types to measure by default: f32, bf16, int8 and int4. If the model is
  /// quantized, returns only the model's own type.
  [[nodiscard]] std::vector<std::string> default_dtypes() const;

  /// Returns whether the model can be loaded with weights of this type. A quantized model can only
  /// be loaded as it is.
  [[nodiscard]] bool can_load(const std::string& dtype) const;

  [[nodiscard]] Model load(const std::string& dtype) const;

 private:
  std::filesystem::path path_;  // empty: random weights
  Config config_;
  std::string name_;
};

}  // namespace gpt2::cli
