#pragma once

#include <array>
#include <functional>
#include <map>

#include "text/vocabulary.h"

namespace gpt2 {

/// A token that is matched in the text itself, before BPE. The members have HuggingFace's names.
struct AddedToken {
  std::string content;
  TokenId id = -1;
  bool single_word = false;  ///< matched only if no letter, number, mark or underscore is adjacent
  bool lstrip = false;       ///< the match includes white space to its left
  bool rstrip = false;       ///< the match includes white space to its right
  bool normalized = true;    ///< matched in the second pass
  bool special = false;      ///< marks structure, and is not part of the text
  std::string where = {};    ///< begins messages
};

/// All added tokens of a tokenizer. They are matched like those of AddedVocabulary in HuggingFace's
/// tokenizers: the first pass matches the tokens that are not `normalized`, and the second pass
/// matches the others in the text between them. In each pass, the leftmost match wins; if several
/// matches begin at the same place, the longest of them wins.
struct AddedTokens {
  Vocabulary& vocabulary;  ///< declare() adds tokens that it lacks
  std::map<TokenId, AddedToken> tokens = {};
  std::size_t n_new = 0;  ///< how many tokens declare() has added to the vocabulary
  std::array<PieceTrie, 2> passes = {};

  /// A token and the text that it was matched in, or text that is not empty and has no token.
  struct Piece {
    std::string_view text;
    const AddedToken* token;
  };

  /// Declares `token` and returns its id. If token.id is -1, the token gets the id that its content
  /// has in the vocabulary, or otherwise the next free id. If the content is empty, does nothing
  /// and returns -1, like HuggingFace's tokenizers. A token that was declared before keeps its
  /// flags, unless `replaces`; in both cases, a token that is special stays special. Throws
  /// Error(invalid_file) if another token has this id, if the token already has another id, if the
  /// id is not below Vocabulary::kMaxTokens, or if the content is longer than
  /// PieceTrie::kMaxPieceBytes.
  TokenId declare(AddedToken token, bool replaces = false);

  /// Must be called after the last `declare` and before `split`, with the function that normalizes
  /// a text. (A normalized form longer than PieceTrie::kMaxPieceBytes is not matched.)
  void prepare(const std::function<std::string(std::string_view)>& normalized);

  /// Divides a text into added tokens and the text between them, in linear time. Pass 0 is for the
  /// text itself, and pass 1 for each part of it without a token, after the normalizer. If
  /// `parse_special` is false, special tokens are treated as text.
  [[nodiscard]] std::vector<Piece> split(std::string_view text, std::size_t pass,
                                         bool parse_special) const;
};

}  // namespace gpt2
