#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
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
  explicit MergeTable(std::size_t capacity = 0);

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
  std::uint64_t multiplier_ = new_secret() | 1;
  std::vector<std::uint64_t> slots_;  // left, right, rank; 2^(64 - shift_), at most half full
  std::vector<TokenId> merged_;       // by rank
};

/// The merges of a file, in the order of their ranks.
class MergeList {
 public:
  /// `where` (the file) begins every message.
  explicit MergeList(std::string where) : where_(std::move(where)) {}

  /// Adds one; false where a part is empty. Throws Error(invalid_file) past kMaxMerges.
  [[nodiscard]] bool add(std::string_view left, std::string_view right);

  /// The same for "left right"; false also where that has no space, or more than one.
  [[nodiscard]] bool add(std::string_view line);

  /// Adds the lines of a merges.txt. Skips empty ones and those that begin with "#version". Throws
  /// Error(invalid_file).
  void add_lines(std::string_view text);

  [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }

  /// Throws Error(invalid_file) where the vocabulary lacks a token that is merged or results.
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
