#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/json_fields.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// Where a space is put before text that has none (add_prefix_space).
enum class PrefixSpace : std::uint8_t {
  nowhere,
  before_text,    ///< before the whole text, always: GPT2Tokenizer
  before_pieces,  ///< before each piece between added tokens that does not begin with one:
                  ///< tokenizers
};

/// The added tokens that the files declare, one after the other.
class AddedTokenList {
 public:
  enum class IfKnown : std::uint8_t { keep, replace };

  /// The largest sum of contents, which bounds the memory that finding them takes.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 22;

  /// Declares `token`. Its id, where it has none yet (-1), is that of the same token in
  /// `vocabulary`, or else the next free one. `vocabulary` gets what it lacks. For a content
  /// declared before, `if_known` tells whose flags count; special, it stays. Empty contents are
  /// ignored, as tokenizers ignores them. Throws Error(invalid_file), beginning with `where`, for
  /// an id that another token has and for two ids of one token.
  void declare(AddedToken token, IfKnown if_known, Vocabulary& vocabulary,
               const std::string& where);

  [[nodiscard]] const AddedToken* find(const std::string& content) const;

  std::vector<AddedToken> tokens;

 private:
  void resolve_id(AddedToken& token, Vocabulary& vocabulary, const std::string& where) const;

  std::unordered_map<std::string, std::size_t> index_;
  std::size_t bytes_ = 0;
};

/// The members of an AddedToken as files write them. Throws Error(invalid_file).
[[nodiscard]] AddedToken read_added_token(const JsonFields& fields);

/// What the files of a tokenizer say, before it is put together.
struct TokenizerParts {
  Vocabulary vocabulary;
  MergeTable merges{0};
  Bpe::Options bpe;
  AddedTokenList added;
  PrefixSpace prefix_space = PrefixSpace::nowhere;
  bool split_words = true;
  std::vector<TokenId> before;  // what every text begins and ends with
  std::vector<TokenId> after;
};

/// Reads a tokenizer.json. Throws Error: invalid_file, or unsupported for what is not GPT-2's kind.
void read_tokenizer_json(std::string_view text, const std::string& where, TokenizerParts& parts);

/// A vocab.json or a merges.txt.
struct TextFile {
  std::string text;
  std::string where;
};

/// Reads a pair of them. Throws Error(invalid_file).
void read_vocabulary(const TextFile& vocab, const TextFile& merges, TokenizerParts& parts);

/// tokenizer_config.json, special_tokens_map.json and added_tokens.json: each an object, or empty
/// where there is no such file.
struct SideFiles {
  struct File {
    nlohmann::json root;
    std::string where;
  };
  File config;
  File special_tokens_map;
  File added_tokens;
};

/// Adds what the side files say; the end-of-text token, where one is named. Throws Error.
std::optional<TokenId> read_side_files(const SideFiles& files, TokenizerParts& parts);

}  // namespace gpt2
