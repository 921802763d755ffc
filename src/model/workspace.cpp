#include "model/workspace.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/fail.h"

namespace gpt2 {

// Calls f(buffer, number of elements) for each buffer. The products here do not overflow, because
// Config::parse limits the sizes.
template <class F>
void Workspace::for_each_buffer(const Config& config, std::size_t keys, int threads, const F& f) {
  const std::size_t n_embd = config.n_embd;
  const std::size_t inner = config.inner_dim();
  f(&Workspace::activations_, kMaxRows * (6 * n_embd + inner));
  const std::size_t padded = round_up(std::max(n_embd, inner), std::max(kInt8Block, kInt4Block));
  const std::size_t quantized = round_up(kMaxRows, kRowGroup) * padded;
  const std::size_t blocks = quantized / std::min(kInt8Block, kInt4Block);
  f(&Workspace::values, quantized);
  f(&Workspace::scales, blocks);
  f(&Workspace::offsets, blocks);
  f(&Workspace::chunk_sums,
    kChunkRows * std::max({chunk_sums_floats(n_embd, 3 * n_embd), chunk_sums_floats(n_embd, inner),
                           chunk_sums_floats(inner, n_embd)}));
  const auto count = static_cast<std::size_t>(threads);
  f(&Workspace::scratch_,
    count * std::max(kMatmulScratchBytes, attention_scratch_bytes(keys)) / sizeof(float));
  f(&Workspace::head_scores_,
    count * (keys + kPanel + kLanes + chunk_sums_floats(keys, config.head_dim())));
  f(&Workspace::tiles_, count * kMaxRows * kTileColumns);
}

Workspace::Workspace(const Config& config, std::size_t keys, int threads) {
  const auto allocate = [this]<class T>(AlignedBuffer<T> Workspace::*buffer, std::size_t count) {
    this->*buffer = AlignedBuffer<T>(count);
  };
  for_each_buffer(config, keys, threads, allocate);
  scratch_floats_ = scratch_.size() / static_cast<std::size_t>(threads);
  head_floats_ = head_scores_.size() / static_cast<std::size_t>(threads);
  float* next = activations_.data();
  for (auto [matrix, cols] : {std::pair{&x, config.n_embd},
                              {&normed, config.n_embd},
                              {&qkv, 3 * config.n_embd},
                              {&attended, config.n_embd},
                              {&hidden, config.inner_dim()}}) {
    *matrix = {next, kMaxRows, cols, cols};
    next += kMaxRows * cols;
  }
}

std::size_t Workspace::bytes(const Config& config, std::size_t keys, int threads) noexcept {
  std::size_t sum = 0;
  const auto add = [&sum]<class T>(AlignedBuffer<T> Workspace::*, std::size_t count) {
    sum += count * sizeof(T);
  };
  for_each_buffer(config, keys, threads, add);
  return sum;
}

bool measures_walks() {
  const char* const variable = std::getenv("GPT2_TUNE");
  const std::string_view value = variable != nullptr && *variable != '\0' ? variable : "on";
  if (value != "on" && value != "off") reject("GPT2_TUNE must be on or off, got ", quote(value));
  return value == "on" && kernels().matmul_int8.count > 1;
}

WalkChoices::WalkChoices() : is_on_(measures_walks()) {}

std::vector<WalkChoice> WalkChoices::list() const {
  std::vector<WalkChoice> choices;
  for (const Entry& e : std::span(entries_).first(count_)) {
    choices.push_back(
        {e.type, e.k, e.n, e.is_single_row, e.names[e.contest.best()], e.contest.gain()});
  }
  return choices;
}

}  // namespace gpt2
