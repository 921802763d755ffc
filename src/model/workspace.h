#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "gpt2/config.h"
#include "gpt2/engine.h"
#include "kernels/kernels.h"
#include "model/contest.h"
#include "model/weight.h"
#include "tensor/matrix.h"

namespace gpt2 {

/// Chooses walks (kernels.h). Memory limits the speed of products of a single row and of a few
/// rows, and how fast it is read depends on the walk. For each shape of weights and each kernel
/// there is a Contest between the walks of a single row, and another between those of several rows.
/// They take place in the passes themselves. No result depends on the choice.
///
/// The choices are not saved for the next process. The contests of the blocks' weights are over
/// after 8 tokens and that of lm_head after 90, and only a few of these tokens take longer. And on
/// a machine whose memory is shared, a choice that was made an hour ago may be wrong.
class WalkChoices {
 public:
  /// With GPT2_TUNE=off, always chooses walk 0. Throws Error(invalid_argument) if that variable is
  /// set to anything else but "on".
  WalkChoices();

  /// Calls product(walk) with one of the walks of a kernel, for a product of `rows` rows.
  template <class Kernel, class F>
  void run(const Weight& weight, std::size_t rows, const Walks<Kernel>& walks,
           const F& product) noexcept {
    Entry* const entry = find(weight, rows, walks);
    if (entry == nullptr) return product(walks.walk[0]);
    Contest& contest = entry->contest;
    if (!contest.is_timed()) {
      product(walks.walk[contest.best()]);
      return contest.end();
    }
    const auto begin = std::chrono::steady_clock::now();
    product(walks.walk[contest.way()]);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    contest.end_timed(time.count(), rows);
  }

  /// The choices so far.
  [[nodiscard]] std::vector<WalkChoice> list() const;

 private:
  struct Entry {
    WeightType type = WeightType::stored;
    std::size_t k = 0, n = 0;
    bool is_single_row = false;
    const void* walks = nullptr;
    std::array<const char*, kMaxWalks> names = {};
    Contest contest = Contest(1);
  };

  // Returns the contest between these walks for weights of this shape, or nullptr if there is none.
  template <class Kernel>
  Entry* find(const Weight& weight, std::size_t rows, const Walks<Kernel>& walks) noexcept {
    const std::size_t count = walks.suiting(rows);
    if (count < 2 || !is_on_ || weight.bytes() < kMinBytes) return nullptr;
    const bool is_single_row = rows == 1;
    for (Entry& e : std::span(entries_).first(count_)) {
      const bool is_shape = e.k == weight.k && e.n == weight.n && e.type == weight.type;
      if (is_shape && e.walks == &walks && e.is_single_row == is_single_row) return &e;
    }
    if (count_ == entries_.size()) return nullptr;
    Entry& added = entries_[count_++];
    added = {weight.type, weight.k, weight.n, is_single_row, &walks, {}, Contest(count)};
    for (std::size_t i = 0; i < count; ++i) added.names[i] = walks.walk[i].name;
    return &added;
  }

  // Smaller weights stay in a cache, and are read so quickly that reading a clock would slow them.
  static constexpr std::size_t kMinBytes = std::size_t{256} << 10;

  // A model has five shapes, and an engine may compute with two quantized copies as well. A shape
  // of float weights has up to three contests, for 1, for 2 and for 65 to 128 rows; the others two.
  std::array<Entry, 40> entries_;
  std::size_t count_ = 0;
  bool is_on_;
};

/// The activations of one forward pass of up to kMaxRows tokens. Pages that no pass has touched
/// take no memory.
class Workspace {
 public:
  /// `keys` is the length of the longest sequence that attention will see.
  Workspace(const Config& config, std::size_t keys, int threads);

  /// Returns the bytes that a workspace takes once passes have touched all of it.
  [[nodiscard]] static std::size_t bytes(const Config& config, std::size_t keys,
                                         int threads) noexcept;

  /// Allows the system to use large pages for the activations. Call this before a pass of many
  /// rows. A pass of few rows would touch only a part of each large page, but would have to wait
  /// until the system has zeroed the whole page.
  void expect_many_rows() const noexcept { activations_.use_large_pages(); }

  Matrix x;         ///< (kMaxRows, n_embd)      the residual stream
  Matrix normed;    ///< (kMaxRows, n_embd)      the output of a LayerNorm
  Matrix qkv;       ///< (kMaxRows, 3 n_embd)    queries, keys, values
  Matrix attended;  ///< (kMaxRows, n_embd)      the outputs of all heads, side by side
  Matrix hidden;    ///< (kMaxRows, inner_dim)   the activations inside the feed-forward layer

  /// The QuantizedRows of the input of a product.
  AlignedBuffer<std::int8_t> values;
  AlignedBuffer<float> scales;
  AlignedBuffer<std::int32_t> offsets;

  /// How products of a single row and of a few rows read their weights.
  WalkChoices walks;

  /// The chunk sums of a product of at most kChunkRows rows.
  AlignedBuffer<float> chunk_sums;

  /// Returns the memory of one head for attention whose keys are shared out among threads. It holds
  /// scores for whole panels of keys, their total, and chunk sums. There is such memory for one
  /// head per thread, which is enough, because keys are shared out only if there are fewer heads
  /// than threads.
  [[nodiscard]] float* head_scores(std::size_t head) const noexcept {
    return head_scores_.data() + head * head_floats_;
  }

  /// Returns the scratch memory that a thread passes to kernels.
  [[nodiscard]] float* scratch(int rank) const noexcept {
    return scratch_.data() + static_cast<std::size_t>(rank) * scratch_floats_;
  }

  /// Returns a thread's tile of results, (kMaxRows, kTileColumns).
  static constexpr std::size_t kTileColumns = 128;
  [[nodiscard]] float* tile(int rank) const noexcept {
    return tiles_.data() + static_cast<std::size_t>(rank) * kMaxRows * kTileColumns;
  }

 private:
  template <class F>
  static void for_each_buffer(const Config& config, std::size_t keys, int threads, const F& f);

  std::size_t scratch_floats_, head_floats_;
  AlignedBuffer<float> activations_, scratch_, head_scores_, tiles_;
};

}  // namespace gpt2
