#include "model/workspace.h"

#include <algorithm>

namespace gpt2 {

Workspace::Workspace(const Config& config, std::size_t keys, int threads) {
  const std::size_t n_embd = config.n_embd;
  const std::size_t inner = config.inner_dim();
  activations_ = AlignedBuffer<float>(kMaxRows * (6 * n_embd + inner));
  float* next = activations_.data();
  for (auto [matrix, cols] : {std::pair{&x, n_embd},
                              {&normed, n_embd},
                              {&qkv, 3 * n_embd},
                              {&attended, n_embd},
                              {&hidden, inner}}) {
    *matrix = {next, kMaxRows, cols, cols};
    next += kMaxRows * cols;
  }
  const std::size_t padded = round_up(std::max(n_embd, inner), std::max(kInt8Block, kInt4Block));
  const std::size_t quantized = round_up(kMaxRows, kRowGroup) * padded;
  const std::size_t blocks = quantized / std::min(kInt8Block, kInt4Block);
  values = AlignedBuffer<std::int8_t>(quantized);
  scales = AlignedBuffer<float>(blocks);
  offsets = AlignedBuffer<std::int32_t>(blocks);
  chunk_sums = AlignedBuffer<float>(std::max({chunk_sums_floats(n_embd, 3 * n_embd),
                                              chunk_sums_floats(n_embd, inner),
                                              chunk_sums_floats(inner, n_embd)}));

  const auto count = static_cast<std::size_t>(threads);
  scratch_floats_ = std::max(kMatmulScratchBytes, attention_scratch_bytes(keys)) / sizeof(float);
  head_floats_ = keys + kPanel + kLanes + chunk_sums_floats(keys, config.head_dim());
  scratch_ = AlignedBuffer<float>(count * scratch_floats_);
  head_scores_ = AlignedBuffer<float>(count * head_floats_);
  tiles_ = AlignedBuffer<float>(count * kMaxRows * kTileColumns);
}

std::size_t Workspace::bytes() const noexcept {
  std::size_t sum = values.size() + offsets.size() * sizeof(std::int32_t);
  for (const auto* floats :
       {&activations_, &scales, &chunk_sums, &scratch_, &head_scores_, &tiles_}) {
    sum += floats->size() * sizeof(float);
  }
  return sum;
}

}  // namespace gpt2
