#include "text/unigram.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <string>

#include "base/utf8.h"
#include "text/vocabulary.h"

namespace gpt2 {
namespace {

std::uint32_t first_character(std::string_view text) {
  return static_cast<signed char>(text[0]) >= 0 ? 1u : decode_utf8(text).length;
}

PieceTrie trie_of(std::span<const Piece> pieces, auto is_wanted) {
  std::vector<PieceTrie::Entry> entries;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    if (!is_wanted(pieces[id].kind)) continue;
    entries.emplace_back(pieces[id].text, static_cast<TokenId>(id));
  }
  return PieceTrie(std::move(entries));
}

}  // namespace

PieceTrie user_defined_pieces(std::span<const Piece> pieces) {
  return trie_of(pieces, [](Piece::Kind kind) { return kind == Piece::Kind::user_defined; });
}

Unigram::Unigram(std::span<const Piece> pieces, const Options& options)
    : options_(options), user_defined_(user_defined_pieces(pieces)) {
  pieces_ = trie_of(pieces, [](Piece::Kind kind) {
    return kind == Piece::Kind::normal || kind == Piece::Kind::user_defined;
  });
  // SentencePiece begins its search for the largest score with the smallest positive float.
  double max = std::numeric_limits<float>::min();
  double min = std::numeric_limits<float>::max();
  for (const Piece& piece : pieces) {
    scores_.push_back(piece.score);
    if (piece.kind != Piece::Kind::normal) continue;
    min = std::min(min, piece.score);
    max = std::max(max, piece.score);
  }
  unknown_score_ = options.float_scores ? static_cast<float>(min - 10) : min - 10;
  for (std::size_t id = 0; id < pieces.size() && !options.is_bpe; ++id) {
    if (pieces[id].kind != Piece::Kind::user_defined) continue;
    scores_[id] = static_cast<float>(static_cast<double>(pieces[id].text.size()) * max) - 0.1;
  }
  bytes_.fill(-1);
  if (!options.byte_fallback) return;
  const PieceTrie by_name = trie_of(pieces, [](Piece::Kind) { return true; });
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = by_name.find(byte_piece(i));
}

// Encodes one text in segments. A segment ends where no piece lies on both sides, so that what
// follows does not depend on what precedes it, but for the rounding of the sum of the scores.
class Unigram::Encoder {
 public:
  Encoder(const Unigram& model, std::string_view text, std::vector<TokenId>& ids,
          std::vector<std::uint32_t>* ends)
      : model_(model), text_(text), ids_(ids), ends_(ends) {}

  std::size_t encode() {
    while (at_ < text_.size()) {
      if (model_.options_.is_bpe) {
        append_merged();
      } else {
        append_best_path();
      }
    }
    append_unknown();
    return lost_bytes_;
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  struct Node {  // the best path from the beginning of the segment to a place
    double score = 0;
    std::uint32_t begin = kNone;  // of its last piece
    TokenId id = -1;
  };
  struct Symbol {
    std::uint32_t begin, length;  // the length is 0 after a merge into the symbol before
    std::uint32_t previous, next;
    TokenId id;
    bool is_frozen;  // never merged
  };
  struct Pair {
    double score;
    std::uint32_t left, length;
    TokenId id;
    // The pair with the largest score is on top; of equal ones, the leftmost.
    bool operator<(const Pair& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };

  void append(TokenId id, std::uint32_t end) {
    ids_.push_back(id);
    if (ends_ != nullptr) ends_->push_back(end);
  }

  // Appends the token of the part from at_ to `end`, or -1 for a character without one.
  void append_part(TokenId id, std::uint32_t end) {
    if (id >= 0) {
      append_unknown();
      append(id, end);
      known_end_ = end;
    }
    at_ = end;
  }

  // Appends what stands for the unknown characters before at_.
  void append_unknown() {
    const std::string_view run = text_.substr(known_end_, at_ - known_end_);
    const auto id_of = [&](char byte) { return model_.bytes_[static_cast<unsigned char>(byte)]; };
    if (std::ranges::all_of(run, [&](char byte) { return id_of(byte) >= 0; })) {
      for (const char byte : run) append(id_of(byte), ++known_end_);
      return;
    }
    lost_bytes_ += run.size();
    if (model_.options_.unknown >= 0) append(model_.options_.unknown, at_);
  }

  void append_best_path() {
    nodes_.assign(1, {.score = score_});  // for each byte up to the farthest end of a piece
    for (std::uint32_t i = 0; i == 0 || i + 1 < nodes_.size();) {
      const std::string_view rest = text_.substr(at_ + i);
      const std::uint32_t character = first_character(rest);
      const double here = nodes_[i].score;
      bool is_known = false;
      model_.pieces_.for_each_prefix(rest, [&](std::uint32_t length, TokenId id) {
        offer(i, i + length, here + model_.scores_[static_cast<std::size_t>(id)], id);
        is_known = is_known || length == character;
      });
      if (!is_known) offer(i, i + character, rounded(here + model_.unknown_score_), -1);
      i += character;
    }
    score_ = nodes_.back().score;
    path_.clear();
    for (auto i = static_cast<std::uint32_t>(nodes_.size()) - 1; i > 0; i = nodes_[i].begin) {
      path_.push_back(i);
    }
    const std::uint32_t begin = at_;
    for (; !path_.empty(); path_.pop_back()) {
      append_part(nodes_[path_.back()].id, begin + path_.back());
    }
  }

  void offer(std::uint32_t begin, std::uint32_t end, double score, TokenId id) {
    if (end >= nodes_.size()) nodes_.resize(end + 1);
    Node& node = nodes_[end];
    if (node.begin == kNone || score > node.score) node = {rounded(score), begin, id};
  }

  [[nodiscard]] double rounded(double score) const {
    return model_.options_.float_scores ? static_cast<float>(score) : score;
  }

  void append_merged() {
    split_into_symbols();
    for (std::uint32_t i = 0; i < symbols_.size(); ++i) look_up(i);
    while (!queue_.empty()) {
      const Pair pair = queue_.top();
      queue_.pop();
      Symbol& left = symbols_[pair.left];
      if (left.length == 0 || left.next == kNone) continue;
      Symbol& right = symbols_[left.next];
      if (left.length + right.length != pair.length) continue;  // one of them has changed
      left.length = pair.length;
      left.next = right.next;
      left.id = pair.id;
      right.length = 0;
      if (left.next != kNone) symbols_[left.next].previous = pair.left;
      look_up(left.previous);
      look_up(pair.left);
    }
    for (std::uint32_t i = 0; i != kNone; i = symbols_[i].next) {
      append_part(symbols_[i].id, symbols_[i].begin + symbols_[i].length);
    }
  }

  // Makes symbols of the characters and user-defined pieces of a segment.
  void split_into_symbols() {
    symbols_.clear();
    std::size_t farthest = at_ + 1;  // end of a piece
    for (std::uint32_t at = at_; at < farthest;) {
      const std::string_view rest = text_.substr(at);
      const auto frozen = model_.user_defined_.longest_prefix(rest);
      const std::uint32_t length = frozen > 0 ? frozen : first_character(rest);
      TokenId symbol_id = -1;
      model_.pieces_.for_each_prefix(rest, [&](std::uint32_t end, TokenId id) {
        farthest = std::max<std::size_t>(farthest, at + end);
        if (end == length) symbol_id = id;
      });
      const auto index = static_cast<std::uint32_t>(symbols_.size());
      symbols_.push_back({at, length, index - 1, index + 1, symbol_id, frozen > 0});
      at += length;
    }
    symbols_.back().next = kNone;  // and 0 - 1 is kNone
  }

  // Adds the pair of a symbol and the next one to the queue, if the two can be merged.
  void look_up(std::uint32_t left) {
    if (left == kNone || symbols_[left].next == kNone) return;
    const Symbol& first = symbols_[left];
    const Symbol& second = symbols_[first.next];
    const std::uint32_t length = first.length + second.length;
    const TokenId id = model_.pieces_.find(text_.substr(first.begin, length));
    if (id < 0 || first.is_frozen || second.is_frozen) return;
    queue_.push({model_.scores_[static_cast<std::size_t>(id)], left, length, id});
  }

  const Unigram& model_;
  std::string_view text_;
  std::vector<TokenId>& ids_;
  std::vector<std::uint32_t>* ends_;
  std::uint32_t at_ = 0;         // what precedes is encoded, but for
  std::uint32_t known_end_ = 0;  // the unknown characters from here on
  std::size_t lost_bytes_ = 0;
  double score_ = 0;
  std::vector<Node> nodes_ = {};
  std::vector<std::uint32_t> path_ = {};
  std::vector<Symbol> symbols_ = {};
  std::priority_queue<Pair> queue_ = {};
};

std::size_t Unigram::encode(std::string_view text, std::vector<TokenId>& ids,
                            std::vector<std::uint32_t>* ends) const {
  return Encoder(*this, text, ids, ends).encode();
}

}  // namespace gpt2
