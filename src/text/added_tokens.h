#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/config.h"
#include "text/token_finder.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// A token that is matched in the text itself, before BPE. The members have HuggingFace's names.
struct AddedToken {
  std::string content;
  TokenId id = -1;
  bool single_word = false;  ///< not next to a letter, number, mark or underscore
  bool lstrip = false;       ///< the match includes white space to its left
  bool rstrip = false;       ///< the match includes white space to its right
  bool normalized = true;    ///< matched in the second pass
  bool special = false;      ///< marks structure, and is not part of the text
};

/// All added tokens of a tokenizer, matched as tokenizers' AddedVocabulary does: first those that
/// are not `normalized`, then the others, in the text between the first ones. In each pass the
/// leftmost match wins, and of matches that begin at the same place the longest.
class AddedTokens {
 public:
  /// Adds tokens that `vocabulary` lacks to it. It must outlive this object.
  explicit AddedTokens(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  /// Either a token or a stretch of text, which is then not empty.
  struct Piece {
    std::string_view text;
    const AddedToken* token;
  };

  /// Which flags count if a content is declared twice. A token that is special stays special.
  enum class IfKnown : std::uint8_t { keep, replace };

  /// The most bytes that all contents may have together. This bounds the memory for matching.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 22;

  /// Declares `token` and returns its id. If it has none (-1), it gets that of the token with this
  /// name in the vocabulary, or else the next free one. Ignores an empty content, as tokenizers
  /// does. Throws Error(invalid_file), beginning with `where`, for an id that another token has and
  /// for a second id of the same token.
  TokenId declare(AddedToken token, const std::string& where, IfKnown if_known = IfKnown::keep);

  /// Must be called after the last `declare` and before `split`.
  void prepare();

  /// Divides the text into added tokens and what lies between them, in linear time. Without
  /// `parse_special`, special tokens are treated as text.
  [[nodiscard]] std::vector<Piece> split(std::string_view text, bool parse_special) const;

  [[nodiscard]] bool contains(TokenId id) const noexcept { return tokens_.contains(id); }
  [[nodiscard]] bool is_special(TokenId id) const noexcept;

 private:
  void split(const Piece& piece, const TokenFinder& finder, bool parse_special,
             std::vector<Piece>& pieces) const;

  Vocabulary& vocabulary_;
  std::map<TokenId, AddedToken> tokens_;
  std::size_t bytes_ = 0;
  std::array<TokenFinder, 2> passes_;
};

}  // namespace gpt2
