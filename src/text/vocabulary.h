#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/config.h"

namespace gpt2 {

/// Tokens and their ids, both ways.
///
/// A token is kept as the bytes it means. In a file it is either spelled in the byte alphabet or,
/// where it has a character outside of that, means itself (a literal). The two are told apart: an
/// added token may read exactly like a token of the BPE.
class Vocabulary {
 public:
  /// Ids are below this, so that a small file cannot ask for a large table.
  static constexpr TokenId kMaxTokens = 1 << 20;

  enum class Inserted : std::uint8_t { yes, repeated_token, repeated_id };

  /// `id` in [0, kMaxTokens); all tokens together are shorter than 4 GiB. Nothing changes unless
  /// the answer is yes.
  Inserted insert(std::string_view spelled, TokenId id);
  Inserted insert_literal(std::string_view content, TokenId id);

  /// The token that a file spells so.
  [[nodiscard]] std::optional<TokenId> find(std::string_view spelled) const;

  /// The token that the files spell in the byte alphabet and that means `bytes`.
  [[nodiscard]] std::optional<TokenId> find_bytes(std::string_view bytes) const noexcept;

  [[nodiscard]] std::optional<TokenId> find_literal(std::string_view content) const noexcept;

  /// Empty for an id without a token. Valid until the next insertion.
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept;

  /// How many tokens there are, and one more than the largest id.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }

 private:
  enum class Kind : std::uint8_t { none, spelled, literal };
  struct Token {
    std::uint32_t begin = 0;  // in text_
    std::uint32_t length = 0;
    Kind kind = Kind::none;
  };
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;
  };

  Inserted insert_last(std::size_t begin, Kind kind, TokenId id);
  [[nodiscard]] std::optional<TokenId> find(std::string_view bytes, Kind kind) const noexcept;
  [[nodiscard]] std::size_t slot_of(std::string_view bytes, Kind kind,
                                    std::uint32_t hash) const noexcept;
  void grow();

  std::string text_;
  std::vector<Token> tokens_;  // by id
  std::vector<Slot> slots_;    // open addressing, a power of two, at most half full
  std::size_t count_ = 0;
};

}  // namespace gpt2
