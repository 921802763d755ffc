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
/// begin at one place the longest.
class AddedTokens {
 public:
  /// `vocabulary` gets the tokens that it lacks; it must outlive this.
  explicit AddedTokens(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  /// A token, or else a stretch of text that is not empty.
  struct Piece {
    std::string_view text;
    const AddedToken* token;
  };

  /// For a content declared before: whose flags count. Special, it stays.
  enum class IfKnown : std::uint8_t { keep, replace };

  /// The largest sum of contents, which bounds the memory that finding them takes.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 22;

  /// Declares `token` and returns its id: where it has none yet (-1), that of the same token in the
  /// vocabulary, or else the next free one. An empty content is ignored, as tokenizers ignores it.
  /// Throws Error(invalid_file), beginning with `where`, for an id that another token has and for
  /// two ids of one token.
  TokenId declare(AddedToken token, const std::string& where, IfKnown if_known = IfKnown::keep);

  /// To be called after the last `declare`.
  void prepare();

  /// Without `parse_special`, a special token that is found is text like any other. Linear.
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
