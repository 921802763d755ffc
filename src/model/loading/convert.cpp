#include "model/loading/loading.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/fail.h"
#include "base/share.h"
#include "base/team.h"
#include "gpt2/runtime.h"
#include "tensor/float16.h"

namespace gpt2 {
namespace {

// y[i] = x[i] in another type of floats.
void narrow(std::byte* y, const float* x, std::size_t n, FloatType type) {
  if (type == FloatType::f32) {
    std::memcpy(y, x, n * sizeof(float));
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint16_t bits = type == FloatType::f16 ? to_f16(x[i]) : to_bf16(x[i]);
    std::memcpy(y + i * sizeof bits, &bits, sizeof bits);
  }
}

// Returns whether a number became infinite, because it is too large for f16.
bool convert_floats(Team& team, std::byte* to, FloatType to_type, const Weight& from) {
  constexpr std::size_t kRun = 4096;  // elements widened at a time
  const FloatType from_type = *from.float_type();
  const auto widen = widen_kernel(from_type);
  const auto is_lost = [&](float x) { return std::isfinite(x) && std::abs(x) >= 65520.0f; };
  std::atomic<bool> any_lost = false;
  team.for_ranges(from.size(), kRun, [&](std::size_t begin, std::size_t end, int) {
    float values[kRun];
    widen(values, from.data + begin * element_bytes(from_type), end - begin);
    narrow(to + begin * element_bytes(to_type), values, end - begin, to_type);
    if (to_type != FloatType::f16) return;
    if (std::any_of(values, values + (end - begin), is_lost)) any_lost = true;
  });
  return any_lost;
}

[[noreturn]] void refuse_overflow(const Transformer& transformer, const Weight& weight) {
  std::string where;
  for_each_tensor(transformer, [&](const auto& tensor, const std::string& name, const Shape&) {
    if (static_cast<const void*>(&tensor) == &weight) where = name;
  });
  fail(ErrorCode::invalid_argument, where,
       "a weight is beyond 65504, the largest number in f16: take bf16");
}

void quantize(Team& team, std::byte* to, WeightType type, const Weight& from) {
  const std::size_t panels = ceil_div(from.n, kPanel);
  const std::size_t blocks = ceil_div(from.k, Weight{.type = type}.block());
  // The blocks are quantized in the order of the source, so that each thread reads long runs of it.
  constexpr std::size_t kRun = 16;  // blocks quantized at a time
  team.for_ranges(panels * blocks, kRun, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) {
      const bool is_kn = from.layout == Weight::Layout::kn;
      quantize_block(to, type, from, is_kn ? i % panels : i / blocks,
                     is_kn ? i / panels : i % blocks);
    }
  });
}

bool needs_change(const Transformer& transformer, const Weight& weight, WeightType type) {
  const bool is_wpe = &weight == &transformer.embedding.wpe;
  return weight.float_type() && !is_wpe && type != WeightType::stored && type != weight.type;
}

// The bytes of a weight and those between it and the next one, which begins a line of the cache.
std::size_t room_of(const Weight& weight) { return round_up(weight.bytes(), 64); }

}  // namespace

void check_weight_type(WeightType type) {
  if (name_of(type).empty()) reject("there is no weight type ", static_cast<int>(type));
}

bool needs_conversion(const Transformer& transformer, WeightType type) {
  bool found = false;
  for_each_weight(transformer, [&](const Weight& weight) {
    found = found || needs_change(transformer, weight, type);
  });
  return found;
}

void convert_all(Transformer& transformer, WeightType type, std::span<const MappedFile> files,
                 const std::function<void(double share)>& progress) {
  check_weight_type(type);
  ModelDescription& description = transformer.description;
  Team team(thread_count());
  const auto in_new_type = [&](Weight weight) {
    weight.type = type;
    return weight;
  };
  std::size_t total = 0, room = 0;
  for_each_weight(transformer, [&](const Weight& weight) {
    if (!needs_change(transformer, weight, type)) {
      description.mapped_bytes += weight.bytes();
      return;
    }
    total += weight.bytes();
    room += room_of(in_new_type(weight));
  });
  const auto buffer = std::make_shared<AlignedBuffer<std::byte>>(room);
  buffer->use_large_pages();
  transformer.storage.push_back(buffer);
  std::byte* to = buffer->data();
  std::size_t done = 0;
  for_each_weight(transformer, [&](Weight& weight) {
    if (!needs_change(transformer, weight, type)) return;
    Weight changed = in_new_type(weight);
    changed.data = to;
    if (const auto floats = changed.float_type()) {
      if (convert_floats(team, to, *floats, weight)) refuse_overflow(transformer, weight);
    } else {
      quantize(team, to, changed.type, weight);
    }
    for (const MappedFile& file : files) file.drop_pages({weight.data, weight.bytes()});
    to += room_of(changed);
    description.converted_bytes += changed.bytes();
    done += weight.bytes();
    weight = changed;
    if (progress) progress(share_of(done, total));
  });
  if (progress && total == 0) progress(1.0);
  if (transformer.config.tie_word_embeddings) transformer.lm_head = transformer.embedding.wte;
}

}  // namespace gpt2
