#include "text/models.h"

#include <bit>

#include "base/fail.h"
#include "base/utf8.h"

namespace gpt2 {
namespace {

// -- Byte pair encoding ---------------------------------------------------------------------------

// The pairs of tokens that can be merged, with their ranks: a hash table without deletion.
class MergeTable {
 public:
  // A merge drops the `prefix` of the right token.
  MergeTable(const MergeList& merges, const Vocabulary& vocabulary, std::string_view prefix)
      : shift_(64 - static_cast<int>(std::bit_width(2 * merges.pairs.size() | 1))),
        slots_(std::size_t{1} << (64 - shift_), kEmpty) {
    merged_.reserve(merges.pairs.size());
    TokenId merged = 0;
    for (const auto& names : merges.pairs) {
      const std::string &left = names.first, &right = names.second;
      const auto id_of = [&](std::string_view token) {
        if (const auto id = vocabulary.find(token)) return *id;
        fail(merges.where, "merge ", merged_.size() + 1, ", ", quote(left), " with ", quote(right),
             ": expected only tokens of the vocabulary, found ", quote(token));
      };
      const std::uint64_t pair = pair_of(id_of(left), id_of(right));
      const std::string_view rest =
          std::string_view(right).substr(right.starts_with(prefix) ? prefix.size() : 0);
      // Ids mostly follow the order of the merges, so this tries the next id before it searches.
      const std::string_view next = vocabulary.name(merged + 1);
      const bool is_next = next.size() == left.size() + rest.size() && next.starts_with(left) &&
                           next.ends_with(rest);
      merged = is_next ? merged + 1 : id_of(concat(left, rest));
      slots_[slot_of(pair)] = pair << kBits | merged_.size();
      merged_.push_back(merged);
    }
  }

  // Returns the rank of the pair, or Symbols::kNever if the two tokens cannot be merged.
  [[nodiscard]] Symbols::Rank rank_of(TokenId left, TokenId right) const noexcept {
    const std::uint64_t slot = slots_[slot_of(pair_of(left, right))];
    return slot == kEmpty ? Symbols::kNever
                          : static_cast<Symbols::Rank>(slot & ((1u << kBits) - 1));
  }

  // Returns the token that results from merging the pair of this rank.
  [[nodiscard]] TokenId merged(Symbols::Rank rank) const noexcept { return merged_[rank]; }

 private:
  // The number of bits of a rank or an id in the table. A rank and the two ids of its pair share
  // one word of the table.
  static constexpr int kBits = 20;
  static_assert(Vocabulary::kMaxTokens <= 1 << kBits && MergeList::kMaxMerges <= 1 << kBits);
  static constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();

  static constexpr std::uint64_t pair_of(TokenId left, TokenId right) noexcept {
    return static_cast<std::uint64_t>(left) << kBits | static_cast<std::uint64_t>(right);
  }

  // Returns the slot that holds the pair, or the empty slot in which it would be inserted. This is
  // multiplicative hashing (Dietzfelbinger and others, 1997). Because the multiplier is secret, the
  // author of a file cannot choose pairs that collide.
  [[nodiscard]] std::size_t slot_of(std::uint64_t pair) const noexcept {
    std::size_t i = static_cast<std::size_t>((pair * multiplier_) >> shift_);
    while (slots_[i] >> kBits != pair && slots_[i] != kEmpty) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  int shift_;
  std::uint64_t multiplier_ = new_secret() | 1;
  std::vector<std::uint64_t> slots_;  // left, right, rank; 2^(64 - shift_), at most half full
  std::vector<TokenId> merged_;       // the resulting token of each rank
};

class Bpe {
 public:
  Bpe(const Vocabulary& vocabulary, const MergeList& merges, const BpeOptions& options)
      : vocabulary_(&vocabulary), merges_(merges, vocabulary, options.prefix), options_(options) {
    for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
      const std::string name =
          options_.of_characters ? byte_piece(byte) : std::string(1, static_cast<char>(byte));
      byte_ids_[byte] = vocabulary.find_bytes(name).value_or(-1);
    }
  }

  void operator()(std::string_view word, Symbols& symbols, TokenSink& out) const {
    if (options_.ignore_merges) {
      const auto id =
          options_.of_characters ? vocabulary_->find(word) : vocabulary_->find_bytes(word);
      if (id) return out.add(*id, word.size());
    }
    split_into_symbols(word, symbols, out);
    symbols.merge(
        [&](const auto& left, const auto& right) { return merges_.rank_of(left.id, right.id); },
        [&](const auto& left, const auto&) { return merges_.merged(left.rank); });
    symbols.for_each([&](TokenId id, std::uint32_t end) { out.add(id, end); });
  }

 private:
  void split_into_symbols(std::string_view word, Symbols& symbols, TokenSink& out) const {
    const auto id_of = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    const bool of_characters = options_.of_characters;
    symbols.clear();
    bool after_unknown = false;
    for (std::size_t begin = 0, end = 1; begin < word.size(); begin = end++) {
      TokenId id = id_of(word[begin]);
      if (of_characters) [[unlikely]] {
        end = begin + decode_utf8(word.substr(begin)).length;
        const std::string_view character = word.substr(begin, end - begin);
        id = id_of_character(character, begin > 0, end == word.size());
        const auto has_token = [&](char byte) { return id_of(byte) >= 0; };
        if (id < 0 && options_.byte_fallback && std::ranges::all_of(character, has_token)) {
          for (; begin < end; ++begin) symbols.add(id_of(word[begin]), begin + 1);
          after_unknown = false;
          continue;
        }
      }
      const bool is_unknown = id < 0;
      if (is_unknown) {
        out.lose(begin, end);
        if (!options_.unknown || (after_unknown && options_.fuse_unknown)) continue;
        id = *options_.unknown;
      }
      after_unknown = is_unknown;
      symbols.add(id, end);
    }
  }

  // Inlined, this makes encoding by bytes 3 % slower.
  [[gnu::noinline]] TokenId id_of_character(std::string_view character, bool continues,
                                            bool ends) const {
    const std::string_view none;
    return vocabulary_
        ->find(concat(continues ? options_.prefix : none, character, ends ? options_.suffix : none))
        .value_or(-1);
  }

  const Vocabulary* vocabulary_;
  std::array<TokenId, 256> byte_ids_;  // of bytes, or of "<0x00>" and so on; -1: none
  MergeTable merges_;
  BpeOptions options_;
};

// -- SentencePiece --------------------------------------------------------------------------------

// Returns a rank for BPE: the larger the score, the smaller the rank.
Symbols::Rank rank_of_score(double score) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(score) + 0.0f);
  return bits >> 31 != 0 ? bits : 0x7fffffff - bits;
}

class Unigram {
 public:
  Unigram(std::span<const Piece> pieces, const UnigramOptions& options)
      : options_(options),
        pieces_(pieces_of({Piece::Kind::normal, Piece::Kind::user_defined}, pieces)),
        user_defined_(pieces_of({Piece::Kind::user_defined}, pieces)) {
    bytes_.fill(-1);
    // SentencePiece begins its search for the largest score with the smallest positive float.
    double max = std::numeric_limits<float>::min();
    double min = std::numeric_limits<float>::max();
    for (const auto& [text, score, kind] : pieces) {
      unsigned byte = 0;
      if (options.byte_fallback && read_byte_piece(text, byte) && text == byte_piece(byte)) {
        bytes_[byte] = static_cast<TokenId>(scores_.size());
      }
      scores_.push_back(score);
      if (kind != Piece::Kind::normal) continue;
      min = std::min(min, score);
      max = std::max(max, score);
    }
    unknown_score_ = rounded(min - 10);
    for (std::size_t id = 0; id < pieces.size() && !options.is_bpe; ++id) {
      if (pieces[id].kind != Piece::Kind::user_defined) continue;
      scores_[id] = static_cast<float>(static_cast<double>(pieces[id].text.size()) * max) - 0.1;
    }
  }

  void operator()(std::string_view text, Symbols& symbols, TokenSink& out) const {
    Encoder encoder = {*this, text, symbols, out};
    while (encoder.at < text.size()) {
      options_.is_bpe ? encoder.append_merged() : encoder.append_best_path();
    }
    encoder.append_unknown();
  }

 private:
  // Encodes one text in segments. A segment ends where no piece lies on both sides, so that what
  // follows does not depend on what precedes it, but for the rounding of the sum of the scores.
  struct Encoder {
    const Unigram& model;
    std::string_view text;
    Symbols& symbols;
    TokenSink& out;

    struct Node {  // the best path from the beginning of the segment to a place
      double score = 0;
      std::uint32_t begin = kNone;  // of its last piece
      TokenId id = -1;
    };
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t at = 0;         // what precedes is encoded, but for
    std::uint32_t known_end = 0;  // the unknown characters from here on
    double score = 0;
    std::vector<Node> nodes = {};
    std::vector<std::uint32_t> path = {};

    // Appends the token of the part from `at` to `end`, or -1 for a character without one.
    void append_part(TokenId id, std::uint32_t end) {
      if (id >= 0) {
        append_unknown();
        out.add(id, end);
        known_end = end;
      }
      at = end;
    }

    // Appends what stands for the unknown characters before `at`.
    void append_unknown() {
      const std::string_view run = text.substr(known_end, at - known_end);
      const auto id_of = [&](char byte) { return model.bytes_[static_cast<unsigned char>(byte)]; };
      if (std::ranges::all_of(run, [&](char byte) { return id_of(byte) >= 0; })) {
        for (const char byte : run) out.add(id_of(byte), ++known_end);
        return;
      }
      out.lose(known_end, at);
      if (model.options_.unknown >= 0) out.add(model.options_.unknown, at);
    }

    void append_best_path() {
      nodes.assign(1, {.score = score});  // for each byte up to the farthest end of a piece
      for (std::uint32_t i = 0; i == 0 || i + 1 < nodes.size();) {
        const std::string_view rest = text.substr(at + i);
        const std::uint32_t character = decode_utf8(rest).length;
        const double here = nodes[i].score;
        bool is_known = false;
        model.pieces_.for_each_prefix(rest, [&](std::uint32_t length, TokenId id) {
          offer(i, i + length, here + model.scores_[static_cast<std::size_t>(id)], id);
          is_known = is_known || length == character;
        });
        if (!is_known) offer(i, i + character, model.rounded(here + model.unknown_score_), -1);
        i += character;
      }
      score = nodes.back().score;
      path.clear();
      for (auto i = static_cast<std::uint32_t>(nodes.size()) - 1; i > 0; i = nodes[i].begin) {
        path.push_back(i);
      }
      const std::uint32_t begin = at;
      for (; !path.empty(); path.pop_back())
        append_part(nodes[path.back()].id, begin + path.back());
    }

    void offer(std::uint32_t begin, std::uint32_t end, double sum, TokenId id) {
      if (end >= nodes.size()) nodes.resize(end + 1);
      Node& node = nodes[end];
      if (node.begin == kNone || sum > node.score) node = {model.rounded(sum), begin, id};
    }

    void append_merged() {
      // The symbols are the characters and user-defined pieces of a segment.
      symbols.clear();
      const std::uint32_t first = at;
      const std::string_view segment = text.substr(first);
      std::size_t farthest = 1;  // end of a piece
      for (std::uint32_t begin = 0, end; begin < farthest; begin = end) {
        const std::string_view rest = segment.substr(begin);
        const std::uint32_t frozen = model.user_defined_.longest_prefix(rest).length;
        end = begin + (frozen > 0 ? frozen : decode_utf8(rest).length);
        TokenId symbol_id = -1;
        model.pieces_.for_each_prefix(rest, [&](std::uint32_t length, TokenId id) {
          farthest = std::max<std::size_t>(farthest, begin + length);
          if (begin + length == end) symbol_id = id;
        });
        symbols.add(symbol_id, end);
      }
      const auto text_of = [&](const Symbols::Symbol& left, const Symbols::Symbol& right) {
        const std::uint32_t begin = symbols.begin_of(left);
        return segment.substr(begin, right.end - begin);
      };
      // User-defined pieces are never merged.
      const auto is_frozen = [&](const Symbols::Symbol& symbol) {
        return model.user_defined_.find(text_of(symbol, symbol)) >= 0;
      };
      const auto merged = [&](const Symbols::Symbol& left, const Symbols::Symbol& right) {
        return is_frozen(left) || is_frozen(right) ? -1 : model.pieces_.find(text_of(left, right));
      };
      const auto rank_of = [&](const Symbols::Symbol& left, const Symbols::Symbol& right) {
        const TokenId id = merged(left, right);
        if (id < 0) return Symbols::kNever;
        return rank_of_score(model.scores_[static_cast<std::size_t>(id)]);
      };
      symbols.merge(rank_of, merged);
      symbols.for_each([&](TokenId id, std::uint32_t end) { append_part(id, first + end); });
    }
  };

  [[nodiscard]] double rounded(double score) const {
    return options_.float_scores ? static_cast<float>(score) : score;
  }

  UnigramOptions options_;
  PieceTrie pieces_;
  PieceTrie user_defined_;
  std::vector<double> scores_;  // by id
  double unknown_score_ = 0;
  std::array<TokenId, 256> bytes_;  // -1: none
};

}  // namespace

bool MergeList::add(std::string_view left, std::string_view right) {
  if (pairs.size() == kMaxMerges) {
    fail(where, "expected at most ", kMaxMerges, " merges, found more");
  }
  if (left.empty() || right.empty()) return false;
  pairs.emplace_back(left, right);
  return true;
}

bool MergeList::add(std::string_view line) {
  const std::size_t space = line.find(' ');
  return space != line.npos && space == line.rfind(' ') &&
         add(line.substr(0, space), line.substr(space + 1));
}

TokenModel bpe_model(const Vocabulary& vocabulary, const MergeList& merges,
                     const BpeOptions& options) {
  return Bpe(vocabulary, merges, options);
}

TokenModel wordpiece_model(const Vocabulary& vocabulary, const WordPieceOptions& options) {
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
  return [options, first_pieces = PieceTrie(std::move(first)),
          next_pieces = PieceTrie(std::move(next))](std::string_view word, Symbols& symbols,
                                                    TokenSink& out) {
    symbols.clear();
    std::size_t at = 0;
    const std::size_t max = options.max_characters;
    const bool is_whole = options.whole_words;
    const bool is_long = !is_whole && word.size() > max && count_characters(word) > max;
    while (!is_long && at < word.size()) {
      const PieceTrie& pieces = at == 0 ? first_pieces : next_pieces;
      const auto [length, id] = pieces.longest_prefix(word.substr(at));
      if (length == 0 || (is_whole && length < word.size())) break;
      at += length;
      symbols.add(id, at);
    }
    if (at < word.size()) {
      out.lose(0, word.size());
      return out.add(options.unknown, word.size());
    }
    symbols.for_each([&](TokenId id, std::uint32_t end) { out.add(id, end); });
  };
}

PieceTrie pieces_of(std::initializer_list<Piece::Kind> kinds, std::span<const Piece> pieces) {
  std::vector<PieceTrie::Entry> entries;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const bool is_wanted = std::ranges::find(kinds, pieces[id].kind) != kinds.end();
    if (is_wanted) entries.emplace_back(pieces[id].text, static_cast<TokenId>(id));
  }
  return PieceTrie(std::move(entries));
}

TokenModel unigram_model(std::span<const Piece> pieces, const UnigramOptions& options) {
  return Unigram(pieces, options);
}

}  // namespace gpt2
