#include "support/decoding_goldens.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace gpt2::test {
namespace {

constexpr float kRemoved = -std::numeric_limits<float>::infinity();

}  // namespace

std::vector<Golden> goldens_of(const std::string& file) {
  std::vector<Golden> goldens;
  goldens.emplace_back(std::filesystem::path(GPT2_TEST_DATA) / "oracle" / file);
  if (const char* more = std::getenv("GPT2_GOLDENS_DIR")) {
    goldens.emplace_back(std::filesystem::path(more) / file);
  }
  return goldens;
}

std::vector<Golden> decoding_goldens(const std::string& name) {
  return goldens_of("decoding/" + name);
}

std::optional<std::filesystem::path> checkpoint_of(const Golden& golden, const std::string& model) {
  const std::string checkpoint = golden.json.at("models").at(model).at("checkpoint");
  std::vector<std::filesystem::path> roots = {GPT2_TEST_DATA};
  if (const char* more = std::getenv("GPT2_GOLDENS_MODELS")) roots.emplace_back(more);
  for (const auto& root : roots) {
    if (std::filesystem::exists(root / checkpoint / "config.json")) return root / checkpoint;
  }
  return std::nullopt;
}

const Engine* Engines::engine(const Golden& golden, const std::string& model) {
  const auto [known, is_new] = engines_.try_emplace(model);
  if (is_new) {
    const auto path = checkpoint_of(golden, model);
    if (path) known->second.emplace(Model::load(*path));
  }
  return known->second ? &*known->second : nullptr;
}

GenerationConfig config_of(nlohmann::json options) {
  if (options.value("do_sample", false)) options.erase("num_beams");
  // JSON has no infinity, so the goldens write "-inf".
  std::vector<std::size_t> removed;
  if (options.contains("sequence_bias")) {
    auto& biases = options["sequence_bias"];
    for (std::size_t i = 0; i < biases.size(); ++i) {
      if (biases[i][1] != "-inf") continue;
      biases[i][1] = 0;
      removed.push_back(i);
    }
  }
  GenerationConfig config = GenerationConfig::parse(options.dump(), "golden");
  for (const std::size_t i : removed) config.sampling.sequence_bias[i].bias = kRemoved;
  return config;
}

std::vector<TokenId> eos_of(const nlohmann::json& value) {
  if (value.is_null()) return {};
  return value.is_array() ? ids_of(value) : std::vector<TokenId>{value};
}

std::span<const float> row_of(const std::vector<float>& matrix, std::size_t width,
                              std::size_t index) {
  return std::span(matrix).subspan(index * width, width);
}

std::vector<std::size_t> kept(std::span<const float> scores) {
  std::vector<std::size_t> ids;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] != kRemoved) ids.push_back(i);
  }
  return ids;
}

std::string difference(std::span<const float> actual, std::span<const float> expected,
                       double tolerance, const std::vector<TokenId>& ignored) {
  if (actual.size() != expected.size()) return "another number of scores";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::ranges::count(ignored, static_cast<TokenId>(i)) != 0) continue;
    if (actual[i] == expected[i]) continue;  // infinities too
    const double wanted = static_cast<double>(expected[i]);
    const double scale = std::abs(wanted) > 1e30 ? std::abs(wanted) : 1.0;
    if (std::abs(static_cast<double>(actual[i]) - wanted) <= tolerance * scale) continue;
    return "score " + std::to_string(i) + " is " + std::to_string(actual[i]) + "; expected " +
           std::to_string(expected[i]);
  }
  return "";
}

}  // namespace gpt2::test
