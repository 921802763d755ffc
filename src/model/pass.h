#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "base/team.h"
#include "gpt2/config.h"
#include "gpt2/observer.h"
#include "model/kv_cache.h"
#include "model/workspace.h"
#include "tensor/matrix.h"

namespace gpt2 {

class Watch;

/// The tokens of one forward pass, as the rows of one matrix. Linear layers compute all rows
/// together, and attention computes slice by slice. There is no padding.
struct Batch {
  /// Consecutive rows that are consecutive tokens of one sequence.
  struct Slice {
    KVCache* cache;
    std::size_t row;    ///< the first row
    std::size_t rows;   ///< the number of rows
    std::size_t first;  ///< the position of the first row's token in its sequence
    std::size_t index;  ///< the index of the slice in the call of Engine::forward
  };

  std::vector<Slice> slices;  ///< each has at least one row

  /// For each slice, the rows whose logits were requested. These are the last rows of the slice;
  /// there may be none. The rows are numbered as if the batch had no other rows.
  std::vector<Slice> wanted;
  std::vector<TokenId> tokens;        ///< (rows)
  std::vector<std::size_t> position;  ///< (rows)
  std::vector<float*> logits;         ///< for each wanted row, where to write its results

  /// Returns the first wanted row of slice s, numbered among all rows.
  [[nodiscard]] std::size_t first_wanted(std::size_t s) const noexcept {
    return slices[s].row + slices[s].rows - wanted[s].rows;
  }

  /// Moves the wanted rows of x to its front and returns them. REQUIRES: x has all rows.
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

/// What all layers of one forward pass share.
struct Pass {
  Team& team;
  Workspace& ws;
  const Batch& batch;

  /// If set, the pass computes no logits. Its results are the (n_embd) hidden states at this stage.
  /// Stage 0 is the embeddings, stage i is the output of block i - 1, and stage n_layer + 1 is the
  /// output of ln_f.
  std::optional<std::size_t> hidden_stage = std::nullopt;

  /// If set, receives the intermediate results of the pass for all rows, and may change them.
  Watch* watch = nullptr;

  std::size_t layer = 0;     ///< the block that computes now, or n_layer after the last one
  bool only_wanted = false;  ///< whether this block needs the queries of the wanted rows alone

  /// Shows a result of the current layer to the observer, if there is one.
  void show(Observed what, Matrix rows) const noexcept;
};

/// Activations of a pass: the input or the output of a layer.
struct Rows : Matrix {
  Pass& pass;
};

}  // namespace gpt2
