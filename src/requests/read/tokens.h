#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/tokenizer.h"
#include "requests/read/members.h"

// The texts and token ids of requests.

namespace gpt2 {

/// Parses token ids that are separated by white space or commas, without or with the brackets that
/// programs print around a list. Throws RequestError for a second list, and for a word that is not
/// a number from 0 to count - 1.
[[nodiscard]] std::vector<TokenId> parse_tokens(std::string text, std::size_t count);

/// Converts texts to tokens. Without a tokenizer, texts consist of token ids.
struct TokenReader {
  const std::optional<Tokenizer>& tokenizer;
  std::size_t vocab_size;

  /// Whether text that reads like a special token is encoded as plain characters.
  bool split_special_tokens = false;

  /// Whether a text gets the tokens that the tokenizer puts at its beginning and end.
  bool add_special_tokens = true;

  /// The token that with_bos() puts before a text.
  std::optional<TokenId> bos = {};

  /// The bytes of the texts that were read for which the vocabulary has no tokens.
  std::size_t lost_bytes = 0;

  /// Reads the member "split_special_tokens" of a request.
  void read_settings(Members& members);

  /// Reads the member "add_bos". Throws RequestError if it is true and there is no first_token().
  void read_bos(Members& members, const Config& config);

  /// Returns the tokens of a text that is scored, with `bos` before them.
  [[nodiscard]] std::vector<TokenId> with_bos(std::vector<TokenId> tokens) const;

  /// Returns the tokens of a text. Throws RequestError if one of them is not in the model's
  /// vocabulary.
  [[nodiscard]] std::vector<TokenId> read(const std::string& text);

  /// Returns the tokens of a list of token ids. `name` is its name in messages. Throws RequestError
  /// for any other value.
  [[nodiscard]] std::vector<TokenId> read_ids(const nlohmann::json& value,
                                              const std::string& name) const;

  /// The same for a text or a list of token ids.
  [[nodiscard]] std::vector<TokenId> read_json(const nlohmann::json& value,
                                               const std::string& name);

  /// Returns the tokens of the member `name`, which is a text or a list of token ids, or of the
  /// member "token_ids". Throws RequestError unless there is one of them.
  [[nodiscard]] std::vector<TokenId> read_member(Members& members, const std::string& name);

  /// The same for a text, a list of token ids, or a list of 1 to `most` of these.
  [[nodiscard]] std::vector<std::vector<TokenId>> read_list(const nlohmann::json& value,
                                                            const std::string& name,
                                                            std::size_t most);
};

/// Returns the token that begins a text and stands for an empty prompt: the bos token of the config
/// or else of the tokenizer, or else the end-of-text token. Throws RequestError if there is none.
[[nodiscard]] TokenId first_token(const std::optional<Tokenizer>& tokenizer, const Config& config);

/// Throws RequestError unless a text, in the member `name` of a request, has 1 to n_positions
/// tokens.
void check_length(std::size_t tokens, const std::string& name, const Config& config);

}  // namespace gpt2
