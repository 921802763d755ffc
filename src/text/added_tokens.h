#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/config.h"
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
};

/// All added tokens of a tokenizer. They are matched like those of AddedVocabulary in HuggingFace's
/// tokenizers: the first pass matches the tokens that are not `normalized`, and the second pass
/// matches the others in the text between them. In each pass, the leftmost match wins; if several
/// matches begin at the same place, the longest of them wins.
class AddedTokens {
 public:
  /// declare() adds tokens to `vocabulary` that it lacks. `vocabulary` must outlive this object.
  explicit AddedTokens(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  /// A token and the text that it was matched in, or text that is not empty and has no token.
  struct Piece {
    std::string_view text;
    const AddedToken* token;
  };

  /// Whether a token that is declared twice keeps its first flags, or gets the new ones. In both
  /// cases, a token that is special stays special.
  enum class IfKnown : std::uint8_t { keep, replace };

  /// Declares `token` and returns its id. If token.id is -1, the token gets the id that its content
  /// has in the vocabulary, or otherwise the next free id. If the content is empty, does nothing
  /// and returns -1, like HuggingFace's tokenizers. Throws Error(invalid_file), whose message
  /// begins with `where`, if another token has this id, if the token already has another id, if the
  /// id is not below Vocabulary::kMaxTokens, or if the content is longer than
  /// PieceTrie::kMaxPieceBytes.
  TokenId declare(AddedToken token, const std::string& where, IfKnown if_known = IfKnown::keep);

  /// Must be called after the last `declare` and before `split`. `normalize` returns the normalized
  /// form of a text. (A form longer than PieceTrie::kMaxPieceBytes is not matched.)
  void prepare(const std::function<std::string(std::string_view)>& normalize);

  /// Divides a text into added tokens and the text between them, in linear time. Pass 0 is for the
  /// text itself, and pass 1 for each part of it without a token, after the normalizer. If
  /// `parse_special` is false, special tokens are treated as text.
  [[nodiscard]] std::vector<Piece> split(std::string_view text, std::size_t pass,
                                         bool parse_special) const;

  [[nodiscard]] bool contains(TokenId id) const noexcept { return tokens_.contains(id); }
  [[nodiscard]] bool is_special(TokenId id) const noexcept;

  /// How many tokens declare() has added to the vocabulary.
  [[nodiscard]] std::size_t n_new() const noexcept { return n_new_; }

 private:
  Vocabulary& vocabulary_;
  std::map<TokenId, AddedToken> tokens_;
  std::size_t n_new_ = 0;
  std::array<PieceTrie, 2> passes_;
};

}  // namespace gpt2
