#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/encoding.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// BERT's WordPiece: divides a word into the longest tokens, from left to right. Immutable.
class WordPiece {
 public:
  struct Options {
    TokenId unknown = -1;              ///< takes the place of a word that is not made of tokens
    std::string prefix = "##";         ///< of a token that continues a word
    std::size_t max_characters = 100;  ///< a longer word is unknown
  };

  /// No word has a token that is longer than PieceTrie::kMaxPieceBytes or that is not UTF-8.
  WordPiece(const Vocabulary& vocabulary, const Options& options);

  /// Adds the tokens of `word` to `out`. Takes O(n) time.
  void encode(std::string_view word, Symbols& symbols, TokenSink& out) const;

 private:
  PieceTrie first_;  // the tokens that begin a word
  PieceTrie next_;   // the tokens that continue a word, without their prefix
  TokenId unknown_;
  std::size_t max_characters_;
};

/// A piece of SentencePiece's vocabulary. Its id is its place in the list of all pieces.
struct Piece {
  /// The numbers are those of SentencePiece's files.
  enum class Kind : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

  std::string_view text;
  double score = 0;
  Kind kind = Kind::normal;
};

/// Returns the pieces that are found in a text as they are, before it is normalized.
[[nodiscard]] PieceTrie user_defined_pieces(std::span<const Piece> pieces);

/// SentencePiece's models: the sequence of pieces with the largest sum of scores (Unigram), or
/// adjacent pieces merged to the piece with the largest score, again and again (BPE). Gives the
/// same tokens as SentencePiece and as the Unigram of HuggingFace's tokenizers. Immutable.
class Unigram {
 public:
  struct Options {
    TokenId unknown = -1;        ///< stands for a run of characters without a piece; -1: none does
    bool byte_fallback = false;  ///< the pieces "<0x00>" and so on spell such a run if all exist
    bool float_scores = false;   ///< each sum is rounded to float, as in SentencePiece
    bool is_bpe = false;
  };

  Unigram() = default;

  /// Only normal and user-defined pieces are found in texts.
  Unigram(std::span<const Piece> pieces, const Options& options);

  /// Adds the tokens of a normalized text to `out`. Takes O(n) time, or O(n log n) for BPE.
  /// REQUIRES: the text is shorter than 2 GiB.
  void encode(std::string_view text, Symbols& symbols, TokenSink& out) const;

 private:
  class Encoder;

  Options options_;
  PieceTrie pieces_;
  PieceTrie user_defined_;
  std::vector<double> scores_;        // by id
  std::vector<Symbols::Rank> ranks_;  // by id, for BPE: pieces of the same score have the same
  double unknown_score_ = 0;
  std::array<TokenId, 256> bytes_{};  // -1: none
};

}  // namespace gpt2
