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
    std::size_t rows;   ///< how many; >= 1
    std::size_t first;  ///< the first token's position
  };

  std::vector<Slice> slices;
  std::vector<TokenId> tokens;        ///< (rows)
  std::vector<std::size_t> position;  ///< (rows)
  std::vector<std::size_t> wanted;    ///< rows whose logits are wanted, ascending
  std::vector<float*> logits;         ///< where each of them goes, (vocab_size) floats

  /// Room for `rows` rows, so that filling it never allocates.
  explicit Batch(std::size_t rows) {
    slices.reserve(rows);
    tokens.reserve(rows);
    position.reserve(rows);
    wanted.reserve(rows);
    logits.reserve(rows);
  }

  void clear() noexcept {
    slices.clear();
    tokens.clear();
    position.clear();
    wanted.clear();
    logits.clear();
  }
};

}  // namespace gpt2
