#include "model/workspace.h"

#include <algorithm>

namespace gpt2 {
namespace {

// Elements of the buffers; of `scratch`, `head` and `tile`, of one thread's.
struct Sizes {
  std::size_t activations, values, blocks, chunk_sums, scratch, head, tile;
};

Sizes sizes_of(const Config& config, std::size_t keys) {
  const std::size_t n_embd = config.n_embd;
  const std::size_t inner = config.inner_dim();
  const std::size_t rows = round_up(kMaxRows, kRowGroup);
  const std::size_t padded = round_up(std::max(n_embd, inner), std::max(kInt8Block, kInt4Block));
  return {
      .activations = kMaxRows * (6 * n_embd + inner),
      .values = rows * padded,
      .blocks = rows * padded / std::min(kInt8Block, kInt4Block),
      .chunk_sums = std::max({chunk_sums_floats(n_embd, 3 * n_embd),
                              chunk_sums_floats(n_embd, inner), chunk_sums_floats(inner, n_embd)}),
      .scratch = std::max(kMatmulScratchBytes, attention_scratch_bytes(keys)) / sizeof(float),
      .head = keys + kPanel + kLanes + chunk_sums_floats(keys, config.head_dim()),
      .tile = kMaxRows * Workspace::kTileColumns};
}

}  // namespace

Workspace::Workspace(const Config& config, std::size_t keys, int threads) {
  const Sizes sizes = sizes_of(config, keys);
  activations_ = AlignedBuffer<float>(sizes.activations);
  float* next = activations_.data();
  for (auto [matrix, cols] : {std::pair{&x, config.n_embd},
                              {&normed, config.n_embd},
                              {&qkv, 3 * config.n_embd},
                              {&attended, config.n_embd},
                              {&hidden, config.inner_dim()}}) {
    *matrix = {next, kMaxRows, cols, cols};
    next += kMaxRows * cols;
  }
  values = AlignedBuffer<std::int8_t>(sizes.values);
  scales = AlignedBuffer<float>(sizes.blocks);
  offsets = AlignedBuffer<std::int32_t>(sizes.blocks);
  chunk_sums = AlignedBuffer<float>(sizes.chunk_sums);

  const auto count = static_cast<std::size_t>(threads);
  scratch_floats_ = sizes.scratch;
  head_floats_ = sizes.head;
  scratch_ = AlignedBuffer<float>(count * sizes.scratch);
  head_scores_ = AlignedBuffer<float>(count * sizes.head);
  tiles_ = AlignedBuffer<float>(count * sizes.tile);
}

std::size_t Workspace::bytes(const Config& config, std::size_t keys, int threads) noexcept {
  const Sizes sizes = sizes_of(config, keys);
  const std::size_t each = sizes.scratch + sizes.head + sizes.tile;
  return sizes.values + sizeof(std::int32_t) * sizes.blocks +
         sizeof(float) * (sizes.activations + sizes.blocks + sizes.chunk_sums +
                          static_cast<std::size_t>(threads) * each);
}

}  // namespace gpt2
