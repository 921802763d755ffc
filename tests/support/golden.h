#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpt2/config.h"

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

}  // namespace gpt2::test
