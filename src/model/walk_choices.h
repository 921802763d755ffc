#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "base/contest.h"
#include "gpt2/engine.h"
#include "model/weight.h"

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

  /// Calls product(walk), where `walk` is the index of one of these names, for a product of `rows`
  /// rows.
  template <class F>
  void run(const Weight& weight, std::size_t rows, std::span<const char* const> names,
           const F& product) noexcept {
    Contest* const contest = find(weight, rows == 1, names);
    if (contest == nullptr) {
      product(0);
    } else if (!contest->is_timed()) {
      product(contest->best());
      contest->end();
    } else {
      const auto begin = std::chrono::steady_clock::now();
      product(contest->way());
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      contest->end_timed(time.count(), rows);
    }
  }

  /// The choices for products of a single row.
  [[nodiscard]] std::vector<WalkChoice> list() const;

 private:
  struct Entry {
    WeightType type = WeightType::stored;
    std::size_t k = 0, n = 0;
    bool is_single_row = false;
    std::span<const char* const> names;
    Contest contest = Contest(1);
  };

  // Returns the contest for weights of this shape, or nullptr if there is none.
  Contest* find(const Weight& weight, bool is_single_row,
                std::span<const char* const> names) noexcept;

  // A model has five shapes, and an engine may compute with two quantized copies as well. A shape
  // of float weights has up to three contests, for 1, for 2 and for 65 to 128 rows; the others two.
  std::array<Entry, 40> entries_;
  std::size_t count_ = 0;
  bool is_on_;
};

}  // namespace gpt2
