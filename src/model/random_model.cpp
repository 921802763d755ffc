#include "model/random_model.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/fail.h"
#include "base/parallel.h"
#include "formats/tensor_table.h"
#include "gpt2/runtime.h"
#include "model/weights.h"

namespace gpt2 {
namespace {

using NamedShape = std::pair<std::string, Shape>;

// In the order that numbers the tensors.
std::vector<NamedShape> tensors_of(const Config& config) {
  const std::size_t n_embd = config.n_embd;
  const std::size_t inner = config.inner_dim();
  std::vector<NamedShape> tensors = {{"wte.weight", {config.vocab_size, n_embd}},
                                     {"wpe.weight", {config.n_positions, n_embd}}};
  const auto add = [&](const std::string& name, const Shape& weight, std::size_t bias) {
    tensors.push_back({name + ".weight", weight});
    tensors.push_back({name + ".bias", {bias}});
  };
  for (std::size_t layer = 0; layer < config.n_layer; ++layer) {
    const std::string h = concat("h.", layer, ".");
    add(h + "ln_1", {n_embd}, n_embd);
    add(h + "ln_2", {n_embd}, n_embd);
    add(h + "attn.c_attn", {n_embd, 3 * n_embd}, 3 * n_embd);
    add(h + "attn.c_proj", {n_embd, n_embd}, n_embd);
    add(h + "mlp.c_fc", {n_embd, inner}, inner);
    add(h + "mlp.c_proj", {inner, n_embd}, n_embd);
  }
  add("ln_f", {n_embd}, n_embd);
  return tensors;
}

// Integer arithmetic and one exact product: the same floats everywhere.
float random_value(std::uint32_t tensor, std::uint32_t element) {
  std::uint32_t bits = element * 0x9E3779B1u + tensor * 0x85EBCA6Bu;
  bits = (bits ^ bits >> 16) * 0x7FEB352Du;
  bits = (bits ^ bits >> 15) * 0x846CA68Bu;
  bits ^= bits >> 16;
  constexpr float kWidth = 0.0692820323f;  // of a uniform distribution of deviation 0.02
  return (static_cast<float>(bits >> 8) * 0x1p-24f - 0.5f) * kWidth;
}

bool is_norm_weight(const std::string& name) {
  return name.ends_with(".weight") && ("." + name).find(".ln_") != std::string::npos;
}

}  // namespace

Config published_config(std::string_view size) {
  Config config;
  for (const auto& [name, n_embd, n_layer, n_head] : {std::tuple{"124M", 768, 12, 12},
                                                      {"355M", 1024, 24, 16},
                                                      {"774M", 1280, 36, 20},
                                                      {"1558M", 1600, 48, 25}}) {
    if (size != name) continue;
    config.n_embd = static_cast<std::size_t>(n_embd);
    config.n_layer = static_cast<std::size_t>(n_layer);
    config.n_head = static_cast<std::size_t>(n_head);
    return config;
  }
  throw Error(ErrorCode::invalid_argument,
              concat("there is no GPT-2 of size '", size, "'; choose 124M, 355M, 774M or 1558M"));
}

Model random_model(const Config& config, const LoadOptions& options) {
  config.validate("random model");
  const std::vector<NamedShape> tensors = tensors_of(config);
  std::size_t total = 0;
  for (const auto& [name, shape] : tensors) total += shape.element_count();
  const auto values = std::make_shared<AlignedBuffer<float>>(total);

  TensorTable table;
  std::size_t begin = 0;
  for (std::uint32_t number = 0; number < tensors.size(); ++number) {
    const auto& [name, shape] = tensors[number];
    const std::size_t count = shape.element_count();
    float* const data = values->data() + begin;
    const float offset = is_norm_weight(name) ? 1.0f : 0.0f;
    parallel(thread_count(), [&](Team& team) {
      team.for_ranges(count, std::size_t{1} << 16, [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
          data[i] = offset + random_value(number, static_cast<std::uint32_t>(i));
        }
      });
    });
    table.emplace(name, TensorView{DType::f32, shape, reinterpret_cast<const std::byte*>(data),
                                   count * sizeof(float)});
    begin += count;
  }
  return Model(bind_weights(
      config, {.tensors = table, .where = "random model", .linear_layout = false, .owner = values},
      options));
}

}  // namespace gpt2
