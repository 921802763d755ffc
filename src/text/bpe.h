#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "gpt2/config.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// Pairs of tokens that merge, by rank: of all merges that a word allows, the one of the lowest
/// rank is done first. A hash table that is only ever added to.
class MergeTable {
 public:
  using Rank = std::uint32_t;
  static constexpr Rank kNever = std::numeric_limits<Rank>::max();

  /// A rank and the two ids of its pair share one word of the table.
  static constexpr int kBits = 20;
  static constexpr std::size_t kMaxMerges = std::size_t{1} << kBits;
  static_assert(Vocabulary::kMaxTokens <= 1 << kBits);

  /// Room for `capacity` pairs, which is at most kMaxMerges, and for no more.
  explicit MergeTable(std::size_t capacity);

  /// Adds the pair of the next rank, the first of which is 0. Of several calls with the same pair
  /// the last one counts.
  void push_back(TokenId left, TokenId right, TokenId merged);

  /// kNever where the two do not merge.
  [[nodiscard]] Rank rank_of(TokenId left, TokenId right) const noexcept;

  /// What the pair of that rank becomes.
  [[nodiscard]] TokenId merged(Rank rank) const noexcept { return merged_[rank]; }

 private:
  [[nodiscard]] std::size_t slot_of(std::uint64_t pair) const noexcept;

  int shift_;
  std::vector<std::uint64_t> slots_;  // left, right, rank; 2^(64 - shift_), at most half full
  std::vector<TokenId> merged_;       // by rank
};

/// Byte pair encoding of one word at a time. Immutable.
class Bpe {
 public:
  struct Options {
    std::optional<TokenId> unknown;  ///< for a byte without a token, which is left out otherwise
    bool fuse_unknown = false;       ///< one for several such bytes in a row
    bool ignore_merges = false;      ///< a word that is a token is that token, whatever the merges
  };

  /// Working memory, to be used again from word to word.
  struct Scratch {
    struct Symbol {
      TokenId id;
      std::uint32_t previous;
      std::uint32_t next;
      MergeTable::Rank rank;  // of the pair with the next
    };
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> queue;
  };

  Bpe(const Vocabulary& vocabulary, MergeTable merges, const Options& options);

  /// Appends the tokens of `word`, which is shorter than 2^32 - 1 bytes. O(n log n).
  void encode(std::string_view word, const Vocabulary& vocabulary, Scratch& scratch,
              std::vector<TokenId>& ids) const;

 private:
  void split_into_symbols(std::string_view word, Scratch& scratch) const;
  void merge_symbols(Scratch& scratch) const;
  void look_up(Scratch& scratch, std::uint32_t left) const;

  std::array<TokenId, 256> byte_ids_;  // -1: none
  MergeTable merges_;
  Options options_;
};

}  // namespace gpt2
