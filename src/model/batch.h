#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "gpt2/config.h"
#include "model/kv_cache.h"
#include "tensor/matrix.h"

namespace gpt2 {

class Watch;

/// The tokens of one forward pass, as the rows of one matrix. Every linear layer sees rows;
/// attention goes slice by slice. There is no padding.
struct Batch {
  /// Consecutive rows that are consecutive tokens of one sequence.
  struct Slice {
    KVCache* cache;
    std::size_t row;    ///< the first of them
    std::size_t rows;   ///< how many there are
    std::size_t first;  ///< the position of the first one's token in its sequence
    std::size_t index;  ///< which slice of the caller's these rows are a part of
  };

  std::vector<Slice> slices;  ///< each has a row or more

  /// For each slice the rows, its last ones, whose logits were requested; there may be none. They
  /// are numbered as if the batch had no other rows.
  std::vector<Slice> wanted;
  std::vector<TokenId> tokens;        ///< (rows)
  std::vector<std::size_t> position;  ///< (rows)
  std::vector<float*> logits;         ///< for each wanted row, where its (vocab_size) logits go

  /// If set, no logits are computed, and the (n_embd) hidden states of the wanted rows at this
  /// stage go to where `logits` points. Stage 0 are the embeddings, i the output of block i - 1, and
  /// n_layer + 1 that of ln_f.
  std::optional<std::size_t> hidden_stage;

  /// If set, sees what the pass computes for each row.
  Watch* watch = nullptr;

  /// The first wanted row of slice s, among all rows.
  [[nodiscard]] std::size_t first_wanted(std::size_t s) const noexcept {
    return slices[s].row + slices[s].rows - wanted[s].rows;
  }

  /// Moves the wanted rows of x, which has all rows, to its front and returns them.
  [[nodiscard]] Matrix move_wanted(Matrix x) const noexcept {
    for (std::size_t s = 0; s < slices.size(); ++s) {
      std::memmove(x.row(wanted[s].row), x.row(first_wanted(s)),
                   wanted[s].rows * x.stride * sizeof(float));
    }
    return x.top(logits.size());
  }

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
