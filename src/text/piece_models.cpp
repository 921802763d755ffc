#include "text/models.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/utf8.h"

namespace gpt2 {
namespace {

std::uint32_t first_character(std::string_view text) {
  return static_cast<signed char>(text[0]) >= 0 ? 1u : decode_utf8(text).length;
}

}  // namespace

WordPiece::WordPiece(const Vocabulary& vocabulary, const Options& options)
    : unknown_(options.unknown), max_characters_(options.max_characters) {
  std::vector<PieceTrie::Entry> first, next;
  for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
    std::string_view name = vocabulary.name(id);
    const bool is_utf8 = valid_utf8_prefix(name) == name.size();
    if (name.empty() || name.size() > PieceTrie::kMaxPieceBytes || !is_utf8) continue;
    first.emplace_back(name, id);
    if (!name.starts_with(options.prefix)) continue;
    name.remove_prefix(options.prefix.size());
    if (!name.empty()) next.emplace_back(name, id);
  }
  first_ = PieceTrie(std::move(first));
  next_ = PieceTrie(std::move(next));
}

void WordPiece::encode(std::string_view word, Symbols& symbols, TokenSink& out) const {
  symbols.clear();
  std::size_t at = 0;
  const bool is_long = word.size() > max_characters_ && count_characters(word) > max_characters_;
  while (!is_long && at < word.size()) {
    const auto [length, id] = (at == 0 ? first_ : next_).longest_prefix(word.substr(at));
    if (length == 0) break;
    symbols.add(id, at);
    at += length;
  }
  if (at < word.size()) {
    out.lose(0, word.size());
    return out.add(unknown_, word.size());
  }
  symbols.finish(at);
  symbols.for_each([&](TokenId id, std::uint32_t end) { out.add(id, end); });
}

PieceTrie pieces_of(std::initializer_list<Piece::Kind> kinds, std::span<const Piece> pieces) {
  std::vector<PieceTrie::Entry> entries;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const bool is_wanted = std::ranges::find(kinds, pieces[id].kind) != kinds.end();
    if (is_wanted) entries.emplace_back(pieces[id].text, static_cast<TokenId>(id));
  }
  return PieceTrie(std::move(entries));
}

Unigram::Unigram(std::span<const Piece> pieces, const Options& options)
    : options_(options),
      pieces_(pieces_of({Piece::Kind::normal, Piece::Kind::user_defined}, pieces)),
      user_defined_(pieces_of({Piece::Kind::user_defined}, pieces)) {
  bytes_.fill(-1);
  // SentencePiece begins its search for the largest score with the smallest positive float.
  double max = std::numeric_limits<float>::min();
  double min = std::numeric_limits<float>::max();
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const auto& [text, score, kind] = pieces[id];
    scores_.push_back(score);
    unsigned byte = 0;
    if (options.byte_fallback && read_byte_piece(text, byte) && text == byte_piece(byte)) {
      bytes_[byte] = static_cast<TokenId>(id);
    }
    if (kind != Piece::Kind::normal) continue;
    min = std::min(min, score);
    max = std::max(max, score);
  }
  unknown_score_ = options.float_scores ? static_cast<float>(min - 10) : min - 10;
  if (options.is_bpe) {
    std::vector<double> sorted = scores_;
    std::ranges::sort(sorted, std::greater<>());
    for (const double score : scores_) {
      const auto place = std::ranges::lower_bound(sorted, score, std::greater<>());
      ranks_.push_back(static_cast<Symbols::Rank>(place - sorted.begin()));
    }
    return;
  }
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].kind != Piece::Kind::user_defined) continue;
    scores_[id] = static_cast<float>(static_cast<double>(pieces[id].text.size()) * max) - 0.1;
  }
}

// Encodes one text in segments. A segment ends where no piece lies on both sides, so that what
// follows does not depend on what precedes it, but for the rounding of the sum of the scores.
class Unigram::Encoder {
 public:
  Encoder(const Unigram& model, std::string_view text, Symbols& symbols, TokenSink& out)
      : model_(model), text_(text), symbols_(symbols), out_(out) {}

  void encode() {
    while (at_ < text_.size()) {
      if (model_.options_.is_bpe) {
        append_merged();
      } else {
        append_best_path();
      }
    }
    append_unknown();
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  struct Node {  // the best path from the beginning of the segment to a place
    double score = 0;
    std::uint32_t begin = kNone;  // of its last piece
    TokenId id = -1;
  };

  // Appends the token of the part from at_ to `end`, or -1 for a character without one.
  void append_part(TokenId id, std::uint32_t end) {
    if (id >= 0) {
      append_unknown();
      out_.add(id, end);
      known_end_ = end;
    }
    at_ = end;
  }

  // Appends what stands for the unknown characters before at_.
  void append_unknown() {
    const std::string_view run = text_.substr(known_end_, at_ - known_end_);
    const auto id_of = [&](char byte) { return model_.bytes_[static_cast<unsigned char>(byte)]; };
    if (std::ranges::all_of(run, [&](char byte) { return id_of(byte) >= 0; })) {
      for (const char byte : run) out_.add(id_of(byte), ++known_end_);
      return;
    }
    out_.lose(known_end_, at_);
    if (model_.options_.unknown >= 0) out_.add(model_.options_.unknown, at_);
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
    const auto merged = [&](const Symbols::Symbol& left, const Symbols::Symbol& right) {
      const auto end = symbols_.end_of(right);
      const bool is_frozen =
          is_user_defined(left.begin, right.begin) || is_user_defined(right.begin, end);
      return is_frozen ? -1 : model_.pieces_.find(text_.substr(left.begin, end - left.begin));
    };
    symbols_.merge(
        [&](const auto& left, const auto& right) {
          const TokenId id = merged(left, right);
          return id < 0 ? Symbols::kNever : model_.ranks_[static_cast<std::size_t>(id)];
        },
        merged);
    symbols_.for_each([&](TokenId id, std::uint32_t end) { append_part(id, end); });
  }

  // User-defined pieces are never merged.
  [[nodiscard]] bool is_user_defined(std::uint32_t begin, std::uint32_t end) const {
    return model_.user_defined_.find(text_.substr(begin, end - begin)) >= 0;
  }

  // Makes symbols of the characters and user-defined pieces of a segment.
  void split_into_symbols() {
    symbols_.clear();
    std::size_t farthest = at_ + 1;  // end of a piece
    std::uint32_t at = at_;
    while (at < farthest) {
      const std::string_view rest = text_.substr(at);
      const std::uint32_t frozen = model_.user_defined_.longest_prefix(rest).length;
      const std::uint32_t length = frozen > 0 ? frozen : first_character(rest);
      TokenId symbol_id = -1;
      model_.pieces_.for_each_prefix(rest, [&](std::uint32_t end, TokenId id) {
        farthest = std::max<std::size_t>(farthest, at + end);
        if (end == length) symbol_id = id;
      });
      symbols_.add(symbol_id, at);
      at += length;
    }
    symbols_.finish(at);
  }

  const Unigram& model_;
  std::string_view text_;
  Symbols& symbols_;
  TokenSink& out_;
  std::uint32_t at_ = 0;         // what precedes is encoded, but for
  std::uint32_t known_end_ = 0;  // the unknown characters from here on
  double score_ = 0;
  std::vector<Node> nodes_ = {};
  std::vector<std::uint32_t> path_ = {};
};

void Unigram::encode(std::string_view text, Symbols& symbols, TokenSink& out) const {
  Encoder(*this, text, symbols, out).encode();
}

}  // namespace gpt2
