#pragma once

#include <cstddef>
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
    std::size_t row;    ///< the first
    std::size_t rows;   ///< how many
    std::size_t first;  ///< the first token's position
  };

  std::vector<Slice> slices;  ///< of one row or more
  /// The last rows of each, maybe none, whose logits are wanted: numbered as if alone.
  std::vector<Slice> wanted;
  std::vector<TokenId> tokens;        ///< (rows)
  std::vector<std::size_t> position;  ///< (rows)
  std::vector<float*> logits;         ///< where those of each wanted row go, (vocab_size) floats

  /// Room for `rows` rows, so that filling it never allocates.
  explicit Batch(std::size_t rows) {
    for_lists([rows](auto& list) { list.reserve(rows); });
  }

  void clear() noexcept {
    for_lists([](auto& list) { list.clear(); });
  }

 private:
  template <class F>
  void for_lists(const F& f) {
    f(slices), f(wanted), f(tokens), f(position), f(logits);
  }
};

}  // namespace gpt2
