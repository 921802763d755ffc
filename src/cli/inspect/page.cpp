#include "cli/inspect/page.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "requests/base64.h"
#include "cli/inspect/page_template.h"
#include "gpt2/weights.h"

namespace gpt2::cli {
namespace {

// Appends the lowest `count` bytes of a number.
void append(std::string& bytes, std::uint32_t number, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::string inputs_of(const Config& config, const Activations& activations) {
  std::string bytes;
  for (const std::vector<float>& input : norm_inputs(activations, config)) {
    for (const float value : input) append(bytes, bits_of(value) >> 8, 3);
  }
  return base64(bytes);
}

std::string attention_of(const Config& config, const Activations& activations) {
  std::string bytes;
  for (std::size_t i = 0; i < config.n_layer * config.n_head; ++i) {
    for (const float weight :
         activations.rows(Observed::attention_weights, i / config.n_head, i % config.n_head)) {
      append(bytes, static_cast<std::uint32_t>(std::lround(65535.0f * weight)), 2);
    }
  }
  return base64(bytes);
}

std::string parameters_of(const Model& model) {
  std::map<std::string, std::span<const std::byte>> tensors;
  for (const NamedWeight& weight : weights_of(model)) tensors[weight.name] = weight.bytes;
  const Config& config = model.config();
  std::string bytes;
  for (std::size_t norm = 0; norm <= 2 * config.n_layer; ++norm) {
    for (const char* const part : {".weight", ".bias"}) {
      const auto tensor = tensors.find(norm_name(norm, config.n_layer) + part);
      if (tensor == tensors.end()) {  // the checkpoint has no bias
        bytes.append(config.n_embd * sizeof(float), '\0');
        continue;
      }
      const auto* const begin = reinterpret_cast<const char*>(tensor->second.data());
      bytes.append(begin, tensor->second.size());
    }
  }
  return base64(bytes);
}

}  // namespace

std::string_view page_begin() {
  const std::string_view page = kPageTemplate[0];
  return page.substr(0, page.find("</title>"));
}

std::string page_of(const Report& report, const Activations& activations) {
  Json json = report_json(report);
  json["inputs"] = inputs_of(report.model.config(), activations);
  json["parameters"] = parameters_of(report.model);
  json["attention"] = attention_of(report.model.config(), activations);
  std::string data = line_of(json);
  // In a script element, "<!--" and "</script" would end the data.
  for (std::size_t at = 0; (at = data.find('<', at)) != std::string::npos;) {
    data.replace(at, 1, "\\u003c");
  }
  std::string page;
  for (const std::string_view piece : kPageTemplate) page += piece;
  constexpr std::string_view kPlace = "@DATA@";
  return page.replace(page.find(kPlace), kPlace.size(), data);
}

}  // namespace gpt2::cli
