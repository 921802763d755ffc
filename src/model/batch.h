#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gpt2/config.h"
#include "model/kv_cache.h"

namespace gpt2 {

/// The tokens of one forward pass, as the rows of one matrix. Every linear layer sees rows;
/// attention goes slice by slice. There is no padding.
struct Batch {
  /// Consecutive rows that are consecutive tokens of one sequence.
  struct Slice {
    KVCache* cache;
    std::size_t row;    ///< the first of them
    std::size_t rows;   ///< how many there are
    std::size_t first;  ///< the position of the first one's token in its sequence
  };

  std::vector<Slice> slices;  ///< each has a row or more

  /// For each slice the rows, its last ones, whose logits were requested; there may be none. They
  /// are numbered as if the batch had no other rows.
  std::vector<Slice> wanted;
  std::vector<TokenId> tokens;        ///< (rows)
  std::vector<std::size_t> position;  ///< (rows)
  std::vector<float*> logits;         ///< for each wanted row, where its (vocab_size) logits go

  /// If set, no logits are computed, and the (n_embd) hidden states of the wanted rows at this
  /// stage (see ForwardObserver) go to where `logits` points.
  std::optional<std::size_t> hidden_stage;

  /// Reserves room for `rows` rows, so that filling the batch never allocates.
  explicit Batch(std::size_t rows) {
    for_lists([rows](auto& list) { list.reserve(rows); });
  }

  void clear() noexcept {
    for_lists([](auto& list) { list.clear(); });
  }

 private:
  template <class F>
  void for_lists(const F& f) {
    f(slices);
    f(wanted);
    f(tokens);
    f(position);
    f(logits);
  }
};

}  // namespace gpt2
