#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "gpt2/config.h"

namespace gpt2 {

/// Tokens and their ids, both ways. A token has a name, which is what files call it, and bytes,
/// which are what it means: of a token of the BPE, what the name spells in the byte alphabet; of a
/// literal, which is an added token or one with a character outside of the alphabet, the name.
class Vocabulary {
 public:
  /// Ids are below this, so that a small file cannot ask for a large table.
  static constexpr TokenId kMaxTokens = 1 << 20;

  enum class Kind : std::uint8_t { none, spelled, literal };

  /// False, and nothing changes, where the name or the id is taken. `id` is in [0, kMaxTokens), all
  /// tokens together are shorter than 2 GiB. What cannot be spelled is literal.
  [[nodiscard]] bool insert(std::string_view name, TokenId id, Kind kind = Kind::spelled);

  [[nodiscard]] std::optional<TokenId> find(std::string_view name) const noexcept;

  /// The token of the BPE that means `bytes`.
  [[nodiscard]] std::optional<TokenId> find_bytes(std::string_view bytes) const;

  /// Empty for an id without a token. Valid until the next insertion.
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept;
  [[nodiscard]] std::string_view name(TokenId id) const noexcept;

  /// How many tokens there are, and one more than the largest id.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }

 private:
  struct Token {
    std::uint32_t name = 0;  // where it begins in text_; the bytes follow
    std::uint32_t name_length = 0;
    std::uint32_t length = 0;  // of the bytes
    Kind kind = Kind::none;
  };
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;
  };

  [[nodiscard]] std::uint32_t hash_of(std::string_view name) const noexcept;
  [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint32_t hash) const noexcept;
  void grow();

  std::string text_;                                   // names and bytes
  std::vector<Token> tokens_;                          // by id
  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // a power of two, at most half full
  std::size_t count_ = 0;
  std::uint64_t secret_ = new_secret() >> 3;
};

}  // namespace gpt2
