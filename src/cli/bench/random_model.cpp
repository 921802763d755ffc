#include "cli/bench/random_model.h"

#include <memory>
#include <string>

#include "base/team.h"
#include "gpt2/runtime.h"
#include "model/loading/loading.h"

namespace gpt2 {
namespace {

// Integer arithmetic and one product without rounding give the same floats on every machine.
float random_value(std::uint32_t tensor, std::uint32_t element) {
  std::uint32_t bits = element * 0x9E3779B1u + tensor * 0x85EBCA6Bu;
  bits = (bits ^ bits >> 16) * 0x7FEB352Du;
  bits = (bits ^ bits >> 15) * 0x846CA68Bu;
  bits ^= bits >> 16;
  // The width of a uniform distribution with a standard deviation of 0.02.
  constexpr float kWidth = 0.0692820323f;  // sqrt(12) * 0.02
  return (static_cast<float>(bits >> 8) * 0x1p-24f - 0.5f) * kWidth;
}

}  // namespace

Model random_model(const Config& config, const LoadOptions& options) {
  const auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->files = {"random model"};
  Team team(thread_count());
  const auto add = [&](const auto&, const std::string& name, const Shape& shape) {
    const auto number = static_cast<std::uint32_t>(checkpoint->tensors.size());
    const std::size_t count = shape.element_count();
    std::byte* const bytes = checkpoint->copies.emplace_back(count * sizeof(float)).data();
    const auto data = reinterpret_cast<float*>(bytes);
    const bool is_norm_weight = shape.rank() == 1 && name.ends_with(".weight");
    const float offset = is_norm_weight ? 1.0f : 0.0f;
    team.for_ranges(count, std::size_t{1} << 16, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) {
        data[i] = offset + random_value(number, static_cast<std::uint32_t>(i));
      }
    });
    checkpoint->tensors[name] = {DType::f32, shape, bytes, count * sizeof(float)};
  };
  const Transformer sizes = Transformer::without_weights(config, Weight::Layout::kn);
  for_each_tensor(sizes, add);
  return Model(bind_weights(config, checkpoint, options));
}

}  // namespace gpt2
