#pragma once

#include <nlohmann/json.hpp>

#include "gpt2/config.h"
#include "gpt2/engine.h"
#include "gpt2/generation_config.h"
#include "gpt2/sampler.h"
#include "support/test.h"

namespace gpt2::test {

/// A golden.json and the tensors in the .bin file of the same name. tests/data/oracle/README.md
/// describes the format.
class Golden {
 public:
  explicit Golden(const std::filesystem::path& json_file);

  nlohmann::json json;

  [[nodiscard]] std::vector<std::size_t> shape(const std::string& name) const;
  [[nodiscard]] std::vector<double> tensor(const std::string& name) const;
  [[nodiscard]] std::vector<float> floats(const std::string& name) const;

 private:
  std::string bytes_;
};

/// Returns the folders that have a golden.json and a model, in name order. Searches
/// tests/data/oracle/cases and, if it is set, $GPT2_ORACLE_DIR.
[[nodiscard]] std::vector<std::filesystem::path> oracle_cases();

[[nodiscard]] std::vector<TokenId> ids_of(const nlohmann::json& array);

/// Returns max - min.
[[nodiscard]] double range_of(const std::vector<double>& values);

/// Returns the goldens in a file (such as inside/inside.json) of tests/data/oracle and, if the
/// variable is set, of $GPT2_GOLDENS_DIR.
[[nodiscard]] std::vector<Golden> goldens_of(const std::string& file);

/// Returns those in a file (such as greedy.json) of the folders decoding and today/decoding.
[[nodiscard]] std::vector<Golden> decoding_goldens(const std::string& name);

/// Returns the directory of the checkpoint that a golden names, such as oracle/cases/untied, below
/// tests/data or, if the variable is set, below $GPT2_GOLDENS_MODELS. Returns nothing if there is
/// none.
[[nodiscard]] std::optional<std::filesystem::path> checkpoint_of(const Golden& golden,
                                                                 const std::string& model);

/// The engines of the models whose checkpoints are on this machine.
class Engines {
 public:
  /// Returns nullptr if there is no checkpoint. Loads each model once.
  const Engine* engine(const Golden& golden, const std::string& model);

 private:
  std::map<std::string, std::optional<Engine>> engines_;
};

/// Reads the options of HuggingFace's generate() in a golden in the same way as a
/// generation_config.json: if top_k is absent, it is 50. Ignores num_beams if do_sample is set.
[[nodiscard]] GenerationConfig config_of(nlohmann::json options);

/// Reads an eos_token_id: null, a number or a list.
[[nodiscard]] std::vector<TokenId> eos_of(const nlohmann::json& value);

/// Returns row `index` of a contiguous row-major matrix.
[[nodiscard]] std::span<const float> row_of(const std::vector<float>& matrix, std::size_t width,
                                            std::size_t index);

/// Returns the ids of the scores that are not -infinity.
[[nodiscard]] std::vector<std::size_t> kept(std::span<const float> scores);

/// Returns a description of the first difference, or "" if there is none. The same scores must be
/// -infinity, and the others must differ by at most `tolerance`; for scores beyond 1e30, this is
/// the relative tolerance.
[[nodiscard]] std::string difference(std::span<const float> actual, std::span<const float> expected,
                                     double tolerance);

}  // namespace gpt2::test
