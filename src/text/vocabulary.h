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

/// Maps tokens to ids and ids to tokens. A token has a name, which files use, and bytes, which are
/// the text that it stands for. The name of a token of the BPE spells its bytes in the byte
/// alphabet. A literal is an added token, or a token whose name has a character outside the
/// alphabet. The bytes of a literal are its name.
class Vocabulary {
 public:
  /// All ids are below this limit, so that a small file cannot cause a large table to be allocated.
  static constexpr TokenId kMaxTokens = 1 << 20;

  enum class Kind : std::uint8_t { none, spelled, literal };

  /// Adds a token. Returns false, and changes nothing, if the name or the id is taken. If the name
  /// does not spell bytes, the token becomes a literal. REQUIRES: 0 <= id < kMaxTokens, and all
  /// names together are shorter than 2 GiB.
  [[nodiscard]] bool insert(std::string_view name, TokenId id, Kind kind = Kind::spelled);

  /// Makes the name of every token its bytes, as in a tokenizer that is not of byte level.
  void use_names() noexcept { uses_names_ = true; }

  [[nodiscard]] std::optional<TokenId> find(std::string_view name) const noexcept;

  /// Returns the token of the BPE that stands for `bytes`, or nothing if there is none.
  [[nodiscard]] std::optional<TokenId> find_bytes(std::string_view bytes) const;

  /// Return the bytes and the name of a token. Both are empty for an id without a token. The views
  /// are valid until the next insertion.
  [[nodiscard]] std::string_view bytes(TokenId id) const noexcept;
  [[nodiscard]] std::string_view name(TokenId id) const noexcept;

  /// The number of tokens, and the largest id plus one.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }

 private:
  struct Token {
    std::uint32_t name = 0;  // the position of the name in text_; the bytes follow the name
    std::uint32_t name_length = 0;
    std::uint32_t length = 0;  // the number of the bytes
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
  bool uses_names_ = false;
  std::uint64_t secret_ = new_secret() >> 3;
};

/// The name that a token for one byte has in a vocabulary of characters: "<0x0A>".
[[nodiscard]] std::string byte_piece(std::size_t byte);

/// Reads such a name. Returns false, and changes nothing, if it is another one.
[[nodiscard]] bool read_byte_piece(std::string_view name, unsigned& byte) noexcept;

}  // namespace gpt2
