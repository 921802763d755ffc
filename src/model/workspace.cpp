#include "model/workspace.h"

#include <algorithm>

namespace gpt2 {

Workspace::Workspace(const Config& config, std::size_t keys, int threads)
    : scratch_floats_(std::max(kMatmulScratchBytes, attention_scratch_bytes(keys)) /
                      sizeof(float)) {
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

  const std::size_t rows = (kMaxRows + kRowGroup - 1) / kRowGroup * kRowGroup;
  constexpr std::size_t kLong = std::max(kInt8Block, kInt4Block);
  constexpr std::size_t kShort = std::min(kInt8Block, kInt4Block);
  const std::size_t padded = (std::max(n_embd, inner) + kLong - 1) / kLong * kLong;
  const std::size_t blocks = rows * padded / kShort;
  values = AlignedBuffer<std::int8_t>(rows * padded);
  scales = AlignedBuffer<float>(blocks);
  offsets = AlignedBuffer<std::int32_t>(blocks);
  chunk_sums = AlignedBuffer<float>(chunk_sums_floats(std::max(n_embd, inner), n_embd));

  scratch_ = AlignedBuffer<float>(static_cast<std::size_t>(threads) * scratch_floats_);
  tiles_ = AlignedBuffer<float>(static_cast<std::size_t>(threads) * kMaxRows * kTileColumns);
}

std::size_t Workspace::bytes() const noexcept {
  const std::size_t floats =
      activations_.size() + scratch_.size() + tiles_.size() + scales.size() + chunk_sums.size();
  return floats * sizeof(float) + values.size() + offsets.size() * sizeof(std::int32_t);
}

}  // namespace gpt2
