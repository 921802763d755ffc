#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "text/encoding.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// The pairs of tokens that can be merged, with their ranks. Of all merges that are possible in a
/// word, BPE does the one with the lowest rank first. This is a hash table without deletion.
class MergeTable {
 public:
  using Rank = Symbols::Rank;

  /// The number of bits of a rank or an id in the table. A rank and the two ids of its pair share
  /// one word of the table.
  static constexpr int kBits = 20;
  static constexpr std::size_t kMaxMerges = std::size_t{1} << kBits;
  static_assert(Vocabulary::kMaxTokens <= 1 << kBits);

  /// Makes an empty table with room for `capacity` pairs. REQUIRES: capacity <= kMaxMerges.
  explicit MergeTable(std::size_t capacity = 0);

  /// Adds a pair with the next rank; the first pair has rank 0. If a pair is added twice, it has
  /// the later rank.
  void push_back(TokenId left, TokenId right, TokenId merged);

  /// Returns the rank of the pair, or Symbols::kNever if the two tokens cannot be merged.
  [[nodiscard]] Rank rank_of(TokenId left, TokenId right) const noexcept;

  /// Returns the token that results from merging the pair of this rank.
  [[nodiscard]] TokenId merged(Rank rank) const noexcept { return merged_[rank]; }

 private:
  [[nodiscard]] std::size_t slot_of(std::uint64_t pair) const noexcept;

  int shift_;
  std::uint64_t multiplier_ = new_secret() | 1;
  std::vector<std::uint64_t> slots_;  // left, right, rank; 2^(64 - shift_), at most half full
  std::vector<TokenId> merged_;       // the resulting token of each rank
};

/// The merges of a file, in the order of their ranks.
class MergeList {
 public:
  /// Messages begin with `where`, the file.
  explicit MergeList(std::string where) : where_(std::move(where)) {}

  /// Adds a merge. Returns false if a part is empty. Throws Error(invalid_file) if there are more
  /// than kMaxMerges.
  [[nodiscard]] bool add(std::string_view left, std::string_view right);

  /// The same for a line "left right". Also returns false unless the line has exactly one space.
  [[nodiscard]] bool add(std::string_view line);

  /// Adds the lines of a merges.txt. Skips empty lines and those that begin with "#version". Throws
  /// Error(invalid_file) if another line is not a merge, or if there are more than kMaxMerges.
  void add_lines(std::string_view text);

  [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }

  /// Returns the merges as a table of ids. Throws Error(invalid_file) if the vocabulary lacks one
  /// of the tokens to merge or a token that results from a merge.
  [[nodiscard]] MergeTable resolve(const Vocabulary& vocabulary) const;

 private:
  struct Pair {
    std::size_t left_length;
    std::size_t length;  // the length of both tokens together
  };

  std::string where_;
  std::string text_;  // the tokens of all pairs, one after another
  std::vector<Pair> pairs_;
};

/// Byte pair encoding of one word at a time. Immutable.
class Bpe {
 public:
  struct Options {
    std::optional<TokenId> unknown;  ///< replaces a byte without a token; if absent, it is dropped
    bool fuse_unknown = false;       ///< one `unknown` stands for several such bytes in a row
    bool ignore_merges = false;      ///< a word that is itself a token becomes that token
    bool of_characters = false;      ///< merges characters instead of bytes
    bool byte_fallback = false;      ///< a character without a token becomes "<0x41>" and so on
  };

  Bpe() = default;

  /// `vocabulary` must outlive this object.
  Bpe(const Vocabulary& vocabulary, MergeTable merges, const Options& options);

  /// Adds the tokens of `word` to `out`. Takes O(n log n) time.
  /// REQUIRES: the word is shorter than 2^32 - 1 bytes.
  void encode(std::string_view word, Symbols& symbols, TokenSink& out) const;

  /// Returns how many of the 256 bytes have no token.
  [[nodiscard]] std::ptrdiff_t missing_bytes() const noexcept {
    return std::count(byte_ids_.begin(), byte_ids_.end(), -1);
  }

 private:
  void split_into_symbols(std::string_view word, Symbols& symbols, TokenSink& out) const;
  [[nodiscard]] bool has_bytes(std::string_view character) const;

  const Vocabulary* vocabulary_ = nullptr;
  std::array<TokenId, 256> byte_ids_{};  // of bytes, or of "<0x00>" and so on; -1: none
  MergeTable merges_;
  Options options_;
};

}  // namespace gpt2
