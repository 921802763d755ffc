#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <initializer_list>
#include <limits>
#include <queue>
#include <span>

#include "gpt2/tokenizer.h"
#include "text/vocabulary.h"

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
struct TokenSink {
  const bool with_ranges;
  std::vector<TokenId> ids = {};
  std::vector<TextRange> ranges = {};  ///< of the caller's text, one for each id
  /// How many bytes have no token: of the caller's text if there are ranges, and otherwise of the
  /// rewritten one.
  std::size_t lost_bytes = 0;

  TextView word = {};
  std::size_t end = 0;         ///< of the last token, in the word
  std::size_t lost_until = 0;  ///< in the caller's text

  /// Begins a word. Offsets below are offsets into it.
  void begin(const TextView& next) noexcept {
    word = next;
    end = 0;
  }

  /// Adds a token, which stands for the bytes from the end of the token before it up to `at`.
  void add(TokenId id, std::size_t at) {
    ids.push_back(id);
    if (!with_ranges) return;
    ranges.push_back(word.range(end, at));
    end = at;
  }

  /// Counts bytes that no token stands for. A rewritten text may have several bytes for one.
  void lose(std::size_t first, std::size_t last) noexcept {
    if (!with_ranges) return void(lost_bytes += last - first);
    const TextRange lost = word.range(first, last);
    lost_bytes += std::max(lost.end, lost_until) - std::max(lost.begin, lost_until);
    lost_until = std::max(lost.end, lost_until);
  }
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
    std::uint32_t end;  ///< in the word
    std::uint32_t previous, next;
    Rank rank;  ///< of the pair that it forms with the next symbol
  };

  void clear() noexcept { size_ = 0; }

  void add(TokenId id, std::size_t end) {
    if (size_ == symbols_.size()) symbols_.resize(2 * size_ + 16);
    // 0 - 1 is kNone.
    symbols_[size_] = {id, static_cast<std::uint32_t>(end), size_ - 1, size_ + 1, kNever};
    ++size_;
  }

  /// Returns where the symbol begins, if the symbols cover the word without gaps.
  [[nodiscard]] std::uint32_t begin_of(const Symbol& symbol) const noexcept {
    return symbol.previous == kNone ? 0 : symbols_[symbol.previous].end;
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
    if (size_ > 0) symbols_[size_ - 1].next = kNone;
    const auto look_up = [&](std::uint32_t i) {
      Symbol& left = symbols_[i];
      left.rank = left.next == kNone ? kNever : rank_of(left, symbols_[left.next]);
      if (left.rank != kNever) queue_.push(queued(left.rank, i));
    };
    for (std::uint32_t i = 0; i < size_; ++i) look_up(i);
    while (!queue_.empty()) {
      const std::uint64_t first = queue_.top();
      queue_.pop();
      const auto i = static_cast<std::uint32_t>(first);
      Symbol& left = symbols_[i];
      if (queued(left.rank, i) != first) continue;

      Symbol& right = symbols_[left.next];
      left.id = merged(left, right);
      left.end = right.end;
      left.next = right.next;
      right.rank = kNever;
      if (left.next != kNone) symbols_[left.next].previous = i;
      look_up(i);
      if (left.previous != kNone) look_up(left.previous);
    }
  }

  template <class Visit>
  void for_each(const Visit& visit) const {
    // The first symbol is never the right one of a pair, so no merge has removed it.
    for (std::size_t i = 0; i < size_; i = symbols_[i].next) {
      visit(symbols_[i].id, symbols_[i].end);
    }
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // Returns an entry of the queue. The queue is ordered by rank, and then from left to right.
  static constexpr std::uint64_t queued(Rank rank, std::uint32_t position) noexcept {
    return static_cast<std::uint64_t>(rank) << 32 | position;
  }

  // Has room for more than size_ symbols: with push_back, encoding takes 10 % longer.
  std::vector<Symbol> symbols_;
  std::uint32_t size_ = 0;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue_;
};

/// Adds the tokens of a word to a sink: a model of a tokenizer. Immutable. Takes O(n) time, or
/// O(n log n) if it merges. REQUIRES: the word is shorter than 2 GiB.
using TokenModel = std::function<void(std::string_view word, Symbols& symbols, TokenSink& out)>;

/// The merges of a file by the names of the two tokens, in the order of their ranks.
struct MergeList {
  static constexpr std::size_t kMaxMerges = std::size_t{1} << 20;

  std::string where;  ///< the file, with which messages begin
  std::deque<std::pair<std::string, std::string>> pairs = {};

  /// Adds a merge. Returns false if a part is empty. Throws Error(invalid_file) if there are more
  /// than kMaxMerges.
  [[nodiscard]] bool add(std::string_view left, std::string_view right);

  /// The same for a line "left right". Also returns false unless the line has exactly one space.
  [[nodiscard]] bool add(std::string_view line);
};

struct BpeOptions {
  std::optional<TokenId> unknown;  ///< replaces a byte without a token; if absent, it is dropped
  bool fuse_unknown = false;       ///< one `unknown` stands for several such bytes in a row
  bool ignore_merges = false;      ///< a word that is itself a token becomes that token
  bool of_characters = false;      ///< merges characters instead of bytes
  bool byte_fallback = false;      ///< a character without a token becomes "<0x41>" and so on
  std::string prefix = {};         ///< of the name of a character that does not begin a word
  std::string suffix = {};         ///< of the name of a character that ends a word
};

/// Returns byte pair encoding, which does the merge with the lowest rank first. If a pair is there
/// twice, it has the later rank. `vocabulary` must outlive the model. Throws Error(invalid_file) if
/// it lacks one of the tokens to merge or a token that results from a merge.
[[nodiscard]] TokenModel bpe_model(const Vocabulary& vocabulary, const MergeList& merges,
                                   const BpeOptions& options = {});

struct WordPieceOptions {
  TokenId unknown = -1;              ///< takes the place of a word that is not made of tokens
  std::string prefix = "##";         ///< of a token that continues a word
  std::size_t max_characters = 100;  ///< a longer word is unknown
  bool whole_words = false;          ///< a word is one token or unknown
};

/// Returns BERT's WordPiece: divides a word into the longest tokens, from left to right. With
/// `whole_words`, returns WordLevel, which divides no word. No word
/// has a token that is longer than PieceTrie::kMaxPieceBytes or that is not UTF-8.
[[nodiscard]] TokenModel wordpiece_model(const Vocabulary& vocabulary,
                                         const WordPieceOptions& options);

/// A piece of SentencePiece's vocabulary. Its id is its place in the list of all pieces.
struct Piece {
  /// The numbers are those of SentencePiece's files.
  enum class Kind : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

  std::string_view text;
  double score = 0;
  Kind kind = Kind::normal;
};

/// Returns the pieces of these kinds. (The user-defined ones are found in a text as they are,
/// before it is normalized.)
[[nodiscard]] PieceTrie pieces_of(std::initializer_list<Piece::Kind> kinds,
                                  std::span<const Piece> pieces);

struct UnigramOptions {
  TokenId unknown = -1;        ///< stands for a run of characters without a piece; -1: none does
  bool byte_fallback = false;  ///< the pieces "<0x00>" and so on spell such a run if all exist
  bool float_scores = false;   ///< each sum is rounded to float, as in SentencePiece
  bool is_bpe = false;
};

/// Returns a model of SentencePiece: the sequence of pieces with the largest sum of scores
/// (Unigram), or adjacent pieces merged to the piece with the largest score, again and again (BPE).
/// Gives the same tokens as SentencePiece and as the Unigram of HuggingFace's tokenizers. Only
/// normal and user-defined pieces are found in texts, which are normalized.
[[nodiscard]] TokenModel unigram_model(std::span<const Piece> pieces,
                                       const UnigramOptions& options);

}  // namespace gpt2
