#include "gpt2/weights.h"
#include "model/transformer.h"

namespace gpt2 {
namespace {

WeightType type_of(const Weight& weight) { return weight.type; }
WeightType type_of(const Tensor&) { return WeightType::f32; }

std::span<const std::byte> bytes_of(const Weight& weight) { return {weight.data, weight.bytes()}; }
std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return std::as_bytes(std::span(tensor.data(), tensor.size()));
}

}  // namespace

std::vector<NamedWeight> weights_of(const Model& model) {
  std::vector<NamedWeight> list;
  for_each_tensor(*model.transformer(),
                  [&](const auto& tensor, const std::string& name, const Shape& shape) {
                    const std::span<const std::byte> bytes = bytes_of(tensor);
                    if (bytes.empty()) return;  // a bias that the checkpoint does not have
                    const auto sizes = shape.sizes();
                    list.push_back({.name = name,
                                    .shape = {sizes.begin(), sizes.end()},
                                    .type = type_of(tensor),
                                    .bytes = bytes});
                  });
  return list;
}

}  // namespace gpt2
