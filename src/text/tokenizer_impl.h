#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "gpt2/tokenizer.h"
#include "text/added_tokens.h"
#include "text/models.h"
#include "text/sentencepiece.h"
#include "text/steps.h"
#include "text/vocabulary.h"

namespace gpt2 {

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
