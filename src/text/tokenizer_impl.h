#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "gpt2/tokenizer.h"
#include "text/models.h"
#include "text/steps.h"

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

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  AddedTokens added{vocabulary};
  // A text passes through these in turn.
  bool has_space_before = false;  // like GPT2Tokenizer, puts a space before every text
  std::optional<SentencePieceNormalizer> sentencepiece;  // takes the place of a normalizer
  Rewrites normalizer;
  WordSplits pre_tokenizer;
  std::variant<Bpe, WordPiece, Unigram> model;
  TokenDecoder decoder;  // unused at byte level

  bool is_byte_level = true;          // whether the names of tokens spell bytes
  std::vector<TokenId> prompt_start;  // special tokens before a text that is to be continued
  std::vector<TokenId> before;        // special tokens before and after a whole text
  std::vector<TokenId> after;
  std::optional<TokenId> end_of_text;
  std::string description;
  std::vector<std::filesystem::path> files;  // the files that were read, in this order

  // What the side files may still change.
  std::optional<BertNormalizer> bert_normalizer;  // takes the place of an empty `normalizer`
  bool has_own_prefix_space = false;  // whether tokenizer_config.json leaves add_prefix_space alone
};

/// The content of a file; `where` is its path.
struct TextFile {
  std::string text;
  std::string where;
};

/// Reads a tokenizer.json. Throws Error: invalid_file, or unsupported for another kind of
/// tokenizer.
void read_tokenizer_json(const TextFile& file, Tokenizer::Impl& tokenizer);

/// Reads a spiece.model. Throws Error: invalid_file, or unsupported.
void read_sentencepiece_model(const TextFile& file, Tokenizer::Impl& tokenizer);

/// Reads a vocab.txt of BERT. Throws Error(invalid_file).
void read_bert_vocabulary(const TextFile& vocab, Tokenizer::Impl& tokenizer);

/// Reads a vocab.json and a merges.txt. Throws Error(invalid_file).
void read_vocabulary(const TextFile& vocab, const TextFile& merges, Tokenizer::Impl& tokenizer);

/// Declares the AddedToken with these members and this id. Throws Error(invalid_file).
void declare_added_token(const JsonFields& fields, const nlohmann::json& id,
                         Tokenizer::Impl& tokenizer);

/// Returns `value` as an id. Throws Error(invalid_file), whose message begins with `where` and
/// names `token`, unless it is a whole number from 0 to Vocabulary::kMaxTokens - 1.
[[nodiscard]] TokenId read_token_id(const nlohmann::json& value, std::string_view token,
                                    std::string_view where);

}  // namespace gpt2
