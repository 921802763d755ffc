#include "support/golden.h"

#include <cstdlib>
#include <stdexcept>

namespace gpt2::test {
namespace {

template <class T>
std::vector<double> convert(const char* data, std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    values[i] = static_cast<double>(value);
  }
  return values;
}

void add_cases(std::vector<std::filesystem::path>& cases, const std::filesystem::path& directory) {
  const std::size_t old = cases.size();
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (std::filesystem::exists(entry.path() / "golden.json") &&
        std::filesystem::exists(entry.path() / "config.json")) {
      cases.push_back(entry.path());
    }
  }
  std::sort(cases.begin() + static_cast<std::ptrdiff_t>(old), cases.end());
}

constexpr float kRemoved = -std::numeric_limits<float>::infinity();

}  // namespace

Golden::Golden(const std::filesystem::path& json_file)
    : json(nlohmann::json::parse(read_bytes(json_file))),
      bytes_(read_bytes(json_file.parent_path() / json.at("bin").get<std::string>())) {}

std::vector<std::size_t> Golden::shape(const std::string& name) const {
  return json.at("tensors").at(name).at("shape").get<std::vector<std::size_t>>();
}

std::vector<double> Golden::tensor(const std::string& name) const {
  const nlohmann::json& entry = json.at("tensors").at(name);
  std::size_t count = 1;
  for (const std::size_t size : shape(name)) count *= size;
  const char* data = bytes_.data() + entry.at("offset").get<std::size_t>();
  const std::string dtype = entry.at("dtype");
  if (dtype == "f32") return convert<float>(data, count);
  if (dtype == "f64") return convert<double>(data, count);
  return convert<std::int32_t>(data, count);
}

std::vector<float> Golden::floats(const std::string& name) const {
  const std::vector<double> wide = tensor(name);
  std::vector<float> values(wide.size());
  std::transform(wide.begin(), wide.end(), values.begin(),
                 [](double value) { return static_cast<float>(value); });
  return values;
}

std::vector<std::filesystem::path> oracle_cases() {
  std::vector<std::filesystem::path> cases;
  add_cases(cases, std::filesystem::path(GPT2_TEST_DATA) / "oracle" / "cases");
  if (const char* more = std::getenv("GPT2_ORACLE_DIR")) add_cases(cases, more);
  return cases;
}

std::vector<TokenId> ids_of(const nlohmann::json& array) {
  return array.get<std::vector<TokenId>>();
}

double range_of(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

std::vector<Golden> goldens_of(const std::string& file) {
  std::vector<Golden> goldens;
  goldens.emplace_back(std::filesystem::path(GPT2_TEST_DATA) / "oracle" / file);
  if (const char* more = std::getenv("GPT2_GOLDENS_DIR")) {
    const std::filesystem::path further = std::filesystem::path(more) / file;
    if (std::filesystem::exists(further)) goldens.emplace_back(further);
  }
  return goldens;
}

std::vector<Golden> decoding_goldens(const std::string& name) {
  std::vector<Golden> goldens = goldens_of("decoding/" + name);
  for (Golden& golden : goldens_of("today/decoding/" + name)) goldens.push_back(std::move(golden));
  return goldens;
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
                       double tolerance) {
  if (actual.size() != expected.size()) return "another number of scores";
  for (std::size_t i = 0; i < expected.size(); ++i) {
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
