#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/secret.h"
#include "gpt2/config.h"

namespace gpt2 {

/// A polynomial in a secret point, modulo 2^61 - 1: whatever names a file holds, few meet (Carter
/// and Wegman, 1979). std::hash can be made to collide, whatever it begins with.
struct NameHash {
  using is_transparent = void;
  std::uint64_t point = new_secret() >> 3;
  [[nodiscard]] std::size_t operator()(std::string_view name) const noexcept;
};

/// Tokens and their ids, both ways. A token has a name, which is what files call it, and bytes,
/// which are what it means: of a token of the BPE, what the name spells in the byte alphabet; of a
/// literal, which is an added token or one with a character outside of the alphabet, the name.
class Vocabulary {
 public:
  /// Ids are below this, so that a small file cannot ask for a large table.
  static constexpr TokenId kMaxTokens = 1 << 20;

  enum class Inserted : std::uint8_t { yes, repeated_token, repeated_id };

  /// `id` in [0, kMaxTokens); all tokens together are shorter than 4 GiB. Nothing changes unless
  /// the answer is yes.
  Inserted insert(std::string_view name, TokenId id);
  Inserted insert_literal(std::string_view name, TokenId id);

  [[nodiscard]] std::optional<TokenId> find(std::string_view name) const;

  /// The token of the BPE that means `bytes`.
  [[nodiscard]] std::optional<TokenId> find_bytes(std::string_view bytes) const;

  /// Empty for an id without a token. Valid until the next insertion.
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept;

  /// How many tokens there are, and one more than the largest id.
  [[nodiscard]] std::size_t count() const noexcept { return ids_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }

 private:
  struct Token {
    enum class Kind : std::uint8_t { none, spelled, literal };
    std::uint32_t begin = 0;  // in text_
    std::uint32_t length = 0;
    Kind kind = Kind::none;
  };

  Inserted insert_last(std::string_view name, TokenId id, std::size_t begin, Token::Kind kind);

  std::unordered_map<std::string, TokenId, NameHash, std::equal_to<>> ids_;  // by name
  std::vector<Token> tokens_;                                                // by id
  std::string text_;                                                         // all bytes
};

}  // namespace gpt2
