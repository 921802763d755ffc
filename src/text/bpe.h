#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string_view>
#include <vector>

#include "gpt2/config.h"
#include "text/merges.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// Byte pair encoding of one word at a time. Immutable.
class Bpe {
 public:
  struct Options {
    std::optional<TokenId> unknown;  ///< replaces a byte without a token; if absent, it is dropped
    bool fuse_unknown = false;       ///< one `unknown` stands for several such bytes in a row
    bool ignore_merges = false;      ///< a word that is itself a token becomes that token
  };

  /// Working memory, kept from word to word so that encoding seldom allocates.
  struct Scratch {
    struct Symbol {
      TokenId id;
      std::uint32_t previous;
      std::uint32_t next;
      MergeTable::Rank rank;  // of the pair that it forms with the next symbol
    };
    std::vector<Symbol> symbols;
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue;
  };

  Bpe() = default;
  Bpe(const Vocabulary& vocabulary, MergeTable merges, const Options& options);

  /// Appends the tokens of `word` to the ids. Returns the number of its bytes that have no token.
  /// Takes O(n log n) time. REQUIRES: the word is shorter than 2^32 - 1 bytes.
  std::size_t encode(std::string_view word, const Vocabulary& vocabulary, Scratch& scratch,
                     std::vector<TokenId>& ids) const;

  /// Returns how many of the 256 bytes have no token.
  [[nodiscard]] std::ptrdiff_t missing_bytes() const noexcept {
    return std::count(byte_ids_.begin(), byte_ids_.end(), -1);
  }

 private:
  std::size_t split_into_symbols(std::string_view word, Scratch& scratch) const;
  void merge_symbols(Scratch& scratch) const;
  void look_up(Scratch& scratch, std::uint32_t left) const;

  std::array<TokenId, 256> byte_ids_{};  // -1: none
  MergeTable merges_;
  Options options_;
};

}  // namespace gpt2
