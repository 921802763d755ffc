#include "support/golden.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gpt2::test {
namespace {

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

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

}  // namespace

Golden::Golden(const std::filesystem::path& json_file)
    : json(nlohmann::json::parse(read(json_file))),
      bytes_(read(json_file.parent_path() / json.at("bin").get<std::string>())) {}

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

}  // namespace gpt2::test
