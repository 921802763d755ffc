#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gpt2/tokenizer.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// Where add_prefix_space puts a space.
enum class PrefixSpace : std::uint8_t {
  nowhere,
  before_text,    ///< always before the whole text, like GPT2Tokenizer
  before_pieces,  ///< before each piece between added tokens that does not begin with a space, like
                  ///< HuggingFace's tokenizers
};

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  Bpe bpe;
  AddedTokens added{vocabulary};
  PrefixSpace prefix_space = PrefixSpace::nowhere;
  bool has_own_prefix_space = false;  // whether tokenizer_config.json leaves prefix_space alone
  bool split_words = true;
  std::vector<TokenId> before;  // special tokens that are put before and after every text
  std::vector<TokenId> after;
  std::optional<TokenId> end_of_text;
  std::string description;
  std::vector<std::filesystem::path> files;  // the files that were read, in this order
};

/// The content of a file; `where` is its path.
struct TextFile {
  std::string text;
  std::string where;
};

/// Reads a tokenizer.json. Throws Error: invalid_file, or unsupported for another kind of
/// tokenizer.
void read_tokenizer_json(const TextFile& file, Tokenizer::Impl& tokenizer);

/// Reads a vocab.json and a merges.txt. Throws Error(invalid_file).
void read_vocabulary(const TextFile& vocab, const TextFile& merges, Tokenizer::Impl& tokenizer);

/// Adds the tokens and settings in tokenizer_config.json, special_tokens_map.json and
/// added_tokens.json. If a file is absent, pass an empty object. Throws Error(invalid_file).
void read_side_files(const JsonFields& config, const JsonFields& special_tokens_map,
                     const JsonFields& added_tokens, Tokenizer::Impl& tokenizer);

/// Declares the AddedToken with these members and this id. Throws Error(invalid_file).
void declare_added_token(const JsonFields& fields, const nlohmann::json& id,
                         Tokenizer::Impl& tokenizer);

/// Returns `value` as an id. Throws Error(invalid_file), whose message begins with `where` and
/// names `token`, unless it is a whole number from 0 to Vocabulary::kMaxTokens - 1.
[[nodiscard]] TokenId read_token_id(const nlohmann::json& value, std::string_view token,
                                    std::string_view where);

}  // namespace gpt2
