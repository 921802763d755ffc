#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/config.h"
#include "text/token_finder.h"

namespace gpt2 {

/// A token that is looked for in the text itself, before BPE sees it. HuggingFace's words.
struct AddedToken {
  std::string content;
  TokenId id = -1;
  bool single_word = false;  ///< not next to a letter, number, mark or underscore
  bool lstrip = false;       ///< takes the white space on its left with it
  bool rstrip = false;       ///< and on its right
  bool normalized = true;    ///< looked for in the second pass
  bool special = false;      ///< marks structure: EncodeOptions::parse_special, is_special
};

/// All added tokens of a tokenizer, found as tokenizers' AddedVocabulary does: first those that are
/// not `normalized`, then, in what lies between them, the others; the leftmost first, of those that
/// begin at one place the longest. Immutable.
class AddedTokens {
 public:
  /// A token, or else a stretch of text that is not empty.
  struct Piece {
    std::string_view text;
    const AddedToken* token;
  };

  /// Contents are unique and not empty.
  explicit AddedTokens(std::vector<AddedToken> tokens);
  AddedTokens(const AddedTokens&) = delete;  // pieces point into it
  AddedTokens& operator=(const AddedTokens&) = delete;

  /// Without `parse_special`, a special token that is found is text like any other. Linear.
  [[nodiscard]] std::vector<Piece> split(std::string_view text, bool parse_special) const;

  [[nodiscard]] bool is_special(TokenId id) const noexcept;

 private:
  void split(std::string_view text, const TokenFinder& finder, bool parse_special,
             std::vector<Piece>& pieces) const;

  std::vector<AddedToken> tokens_;
  std::array<TokenFinder, 2> passes_;
  std::vector<TokenId> special_ids_;  // ascending
};

}  // namespace gpt2
