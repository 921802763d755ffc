#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secret.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// The pairs of tokens that merge, with their ranks: of all merges that a word allows, the one of
/// the lowest rank is done first. A hash table without deletion.
class MergeTable {
 public:
  using Rank = std::uint32_t;
  static constexpr Rank kNever = std::numeric_limits<Rank>::max();

  /// A rank and the two ids of its pair share one word of the table.
  static constexpr int kBits = 20;
  static constexpr std::size_t kMaxMerges = std::size_t{1} << kBits;
  static_assert(Vocabulary::kMaxTokens <= 1 << kBits);

  /// A table for exactly `capacity` pairs. REQUIRES: capacity <= kMaxMerges.
  explicit MergeTable(std::size_t capacity = 0);

  /// Adds the pair of the next rank; the first has rank 0. If a pair is added twice, the later rank
  /// counts.
  void push_back(TokenId left, TokenId right, TokenId merged);

  /// The rank of the pair; kNever if the two do not merge.
  [[nodiscard]] Rank rank_of(TokenId left, TokenId right) const noexcept;

  /// The token that the pair of this rank becomes.
  [[nodiscard]] TokenId merged(Rank rank) const noexcept { return merged_[rank]; }

 private:
  [[nodiscard]] std::size_t slot_of(std::uint64_t pair) const noexcept;

  int shift_;
  std::uint64_t multiplier_ = new_secret() | 1;
  std::vector<std::uint64_t> slots_;  // left, right, rank; 2^(64 - shift_), at most half full
  std::vector<TokenId> merged_;       // by rank
};

/// The merges of a file, in the order of their ranks.
class MergeList {
 public:
  /// Messages begin with `where`, the file.
  explicit MergeList(std::string where) : where_(std::move(where)) {}

  /// Adds a merge. Returns false if a part is empty. Throws Error(invalid_file) beyond kMaxMerges.
  [[nodiscard]] bool add(std::string_view left, std::string_view right);

  /// The same for a line "left right". Returns false, too, unless it has exactly one space.
  [[nodiscard]] bool add(std::string_view line);

  /// Adds the lines of a merges.txt. Skips empty ones and those that begin with "#version". Throws
  /// Error(invalid_file).
  void add_lines(std::string_view text);

  [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }

  /// Throws Error(invalid_file) if the vocabulary lacks a token that is merged or that results.
  [[nodiscard]] MergeTable resolve(const Vocabulary& vocabulary) const;

 private:
  struct Pair {
    std::size_t left_length;
    std::size_t length;  // of both
  };

  std::string where_;
  std::string text_;  // all of them, one after another
  std::vector<Pair> pairs_;
};

}  // namespace gpt2
