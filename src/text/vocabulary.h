#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// Finds the pieces of a vocabulary that begin at one place of a text. This is a trie in a hash
/// table, which has a node under the place of its parent and the byte that leads to it. A node that
/// has one child and no piece is part of that child, so that there are fewer than two nodes for
/// each piece, however long the pieces are. Immutable.
class PieceTrie {
 public:
  using Entry = std::pair<std::string_view, TokenId>;

  struct Match {
    std::uint32_t length = 0;
    TokenId id = -1;  ///< -1: there is none
  };

  /// The max bytes of a piece, which bound the time for each place of a text.
  static constexpr std::size_t kMaxPieceBytes = 1024;

  PieceTrie() = default;

  /// Copies the texts. If two entries have the same text, the later one counts. REQUIRES: no text
  /// is empty or longer than kMaxPieceBytes; ids are at least 0.
  explicit PieceTrie(std::vector<Entry> entries);

  /// Calls visit(length, id) for each piece that `text` begins with, from short to long.
  template <class Visit>
  void for_each_prefix(std::string_view text, const Visit& visit) const {
    std::uint32_t node = kRoot;
    for (std::uint32_t length = 0; length < text.size();) {
      node = child_of(node, text[length++]);
      const Node& found = nodes_[node];
      if (found.parent == kNone) return;
      if (const std::uint32_t more = found.label_length) {
        if (text.compare(length, more, text_.data() + found.label, more) != 0) return;
        length += more;
      }
      if (found.id >= 0) visit(length, found.id);
    }
  }

  /// Returns -1 if there is no such piece.
  [[nodiscard]] TokenId find(std::string_view piece) const noexcept;

  /// Returns the longest piece that `text` begins with.
  [[nodiscard]] Match longest_prefix(std::string_view text) const noexcept {
    Match longest;
    for_each_prefix(text, [&](std::uint32_t length, TokenId id) { longest = {length, id}; });
    return longest;
  }

  [[nodiscard]] bool is_empty() const noexcept { return nodes_.size() == 1; }

  /// The size of the table, a small multiple of the number of pieces.
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 private:
  // Parents that are not in the table: that of an empty place, and the root.
  static constexpr std::uint32_t kNone = ~std::uint32_t{1}, kRoot = ~std::uint32_t{0};

  struct Node {
    std::uint32_t parent = kNone;
    TokenId id = -1;
    std::uint32_t label = 0;         // the place in text_ of the bytes that lead to the node
    std::uint16_t label_length = 0;  // after `byte`
    char byte = 0;
  };

  // Returns the place of the child, or an empty place if there is none. The multiplier is secret,
  // as in the table of merges.
  [[nodiscard]] std::uint32_t child_of(std::uint32_t node, char byte) const noexcept {
    const std::uint64_t key = std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
    auto i = static_cast<std::uint32_t>((key * multiplier_) >> 32) & mask_;
    const auto is_other = [&](const Node& at) { return at.parent != node || at.byte != byte; };
    while (is_other(nodes_[i]) && nodes_[i].parent != kNone) i = (i + 1) & mask_;
    return i;
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);  // a power of two, at most half full
  std::uint32_t mask_ = 0;                          // their number minus one
  std::uint64_t multiplier_ = new_secret() | 1;
  std::string text_;
};

void append_utf8(std::string& out, char32_t code_point);

/// Appends the character that spells the byte in the names of a byte-level BPE.
void append_spelled(std::string& out, char byte);

/// The name that a token for one byte has in a vocabulary of characters: "<0x0A>".
[[nodiscard]] std::string byte_piece(std::size_t byte);

/// Reads such a name. Returns false, and changes nothing, if it is another one.
[[nodiscard]] bool read_byte_piece(std::string_view name, unsigned& byte) noexcept;

}  // namespace gpt2
