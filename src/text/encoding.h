#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/tokenizer.h"

namespace gpt2 {

/// A part of a text on its way from the caller to the model of a tokenizer.
struct TextView {
  std::string_view text = {};
  /// The range of the caller's text for each byte. If nullptr, the bytes are the caller's own, and
  /// the first of them is at `begin`; or nobody asks for ranges.
  const TextRange* origins = nullptr;
  std::size_t begin = 0;  ///< 0 only if the part is at the beginning of the caller's text

  /// Returns a part of this. REQUIRES: `part` is within `text`.
  [[nodiscard]] TextView part(std::string_view part) const noexcept {
    const auto offset = static_cast<std::size_t>(part.data() - text.data());
    return {part, origins != nullptr ? origins + offset : nullptr, begin + offset};
  }

  /// Returns the range of the caller's text for the bytes from `first` to `last`.
  [[nodiscard]] TextRange range(std::size_t first, std::size_t last) const noexcept {
    if (origins == nullptr) return {begin + first, begin + last};
    if (first == last) return {};
    return {origins[first].begin, origins[last - 1].end};
  }
};

/// A text that was rewritten. Has origins if they are asked for.
struct TextBuffer {
  std::string text = {};
  std::vector<TextRange> origins = {};
};

/// Receives the tokens of a text, word by word and from left to right.
class TokenSink {
 public:
  explicit TokenSink(bool with_ranges) : with_ranges_(with_ranges) {}

  std::vector<TokenId> ids = {};
  std::vector<TextRange> ranges = {};  ///< of the caller's text, one for each id
  /// How many bytes have no token: of the caller's text if there are ranges, and otherwise of the
  /// rewritten one.
  std::size_t lost_bytes = 0;

  /// Begins a word. Offsets below are offsets into it.
  void begin(const TextView& word) noexcept {
    word_ = word;
    end_ = 0;
  }

  /// Adds a token, which stands for the bytes from the end of the token before it up to `end`.
  void add(TokenId id, std::size_t end) {
    ids.push_back(id);
    if (!with_ranges_) return;
    ranges.push_back(word_.range(end_, end));
    end_ = end;
  }

  /// Counts bytes that no token stands for. A rewritten text may have several bytes for one.
  void lose(std::size_t first, std::size_t last) noexcept {
    if (!with_ranges_) return void(lost_bytes += last - first);
    const TextRange lost = word_.range(first, last);
    lost_bytes += std::max(lost.end, lost_until_) - std::max(lost.begin, lost_until_);
    lost_until_ = std::max(lost.end, lost_until_);
  }

 private:
  const bool with_ranges_;
  TextView word_ = {};
  std::size_t end_ = 0;
  std::size_t lost_until_ = 0;
};

/// The symbols of a word, whose pairs are merged: a list in both directions. Kept from word to
/// word, so that encoding seldom allocates.
class Symbols {
 public:
  /// Of all pairs, the one with the lowest rank is merged first.
  using Rank = std::uint32_t;
  static constexpr Rank kNever = std::numeric_limits<Rank>::max();

  struct Symbol {
    TokenId id;
    std::uint32_t begin;  ///< in the word
    std::uint32_t previous;
    std::uint32_t next;
    Rank rank;  ///< of the pair that it forms with the next symbol
  };

  void clear() noexcept { symbols_.clear(); }

  // Without the attribute, GCC calls this for every byte, and encoding takes 10 % longer.
  [[gnu::always_inline]] void add(TokenId id, std::size_t begin) {
    const auto index = static_cast<std::uint32_t>(symbols_.size());
    // 0 - 1 is kNone.
    symbols_.push_back({id, static_cast<std::uint32_t>(begin), index - 1, index + 1, kNever});
  }

  /// Must be called after the last `add`. `end` is that of the last symbol.
  void finish(std::size_t end) noexcept {
    end_ = static_cast<std::uint32_t>(end);
    if (!symbols_.empty()) symbols_.back().next = kNone;
  }

  [[nodiscard]] std::uint32_t end_of(const Symbol& symbol) const noexcept {
    return symbol.next == kNone ? end_ : symbols_[symbol.next].begin;
  }

  /// Merges pairs of adjacent symbols as long as rank_of(left, right) is not kNever for one of
  /// them; of pairs of the same rank, the leftmost one first. The result of a merge has the id
  /// merged(left, right).
  ///
  /// If the rank of a pair has changed since its entry was added to the queue, the entry is
  /// outdated and is skipped. Each merge removes a symbol and adds at most two entries, so n
  /// symbols cause fewer than 3 n entries.
  template <class RankOf, class Merged>
  void merge(const RankOf& rank_of, const Merged& merged) {
    const auto look_up = [&](std::uint32_t i) {
      Symbol& left = symbols_[i];
      left.rank = left.next == kNone ? kNever : rank_of(left, symbols_[left.next]);
      if (left.rank != kNever) queue_.push(queued(left.rank, i));
    };
    for (std::uint32_t i = 0; i < symbols_.size(); ++i) look_up(i);
    while (!queue_.empty()) {
      const std::uint64_t first = queue_.top();
      queue_.pop();
      const auto i = static_cast<std::uint32_t>(first);
      Symbol& left = symbols_[i];
      if (queued(left.rank, i) != first) continue;

      Symbol& right = symbols_[left.next];
      left.id = merged(left, right);
      left.next = right.next;
      right.rank = kNever;
      if (left.next != kNone) symbols_[left.next].previous = i;
      look_up(i);
      if (left.previous != kNone) look_up(left.previous);
    }
  }

  /// Calls visit(id, end) for each symbol.
  template <class Visit>
  void for_each(const Visit& visit) const {
    // The first symbol is never the right one of a pair, so no merge has removed it.
    for (std::uint32_t i = symbols_.empty() ? kNone : 0; i != kNone; i = symbols_[i].next) {
      visit(symbols_[i].id, end_of(symbols_[i]));
    }
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // Returns an entry of the queue. The queue is ordered by rank, and then from left to right.
  static constexpr std::uint64_t queued(Rank rank, std::uint32_t position) noexcept {
    return static_cast<std::uint64_t>(rank) << 32 | position;
  }

  std::vector<Symbol> symbols_;
  std::uint32_t end_ = 0;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue_;
};

}  // namespace gpt2
