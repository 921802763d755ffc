#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "gpt2/config.h"

namespace gpt2 {

/// Finds all pieces of a vocabulary that begin at one place of a text. This is a trie in one table
/// (a double array; Aoe, 1989), in which a step takes one comparison. Immutable.
class PieceTrie {
 public:
  using Entry = std::pair<std::string_view, TokenId>;

  /// The max bytes of a piece, which bound the time for each place of a text.
  static constexpr std::size_t kMaxPieceBytes = 1024;

  PieceTrie() = default;

  /// If two entries have the same text, the later one counts. REQUIRES: no text is empty or longer
  /// than kMaxPieceBytes; ids are at least 0.
  explicit PieceTrie(std::vector<Entry> entries);

  /// Calls visit(length, id) for each piece that `text` begins with, from short to long.
  template <class Visit>
  void for_each_prefix(std::string_view text, const Visit& visit) const {
    std::uint32_t node = 0;
    std::uint32_t length = 0;
    for (const char byte : text) {
      const std::uint32_t child = units_[node].children + static_cast<unsigned char>(byte);
      if (units_[child].parent != node) return;
      node = child;
      ++length;
      if (units_[node].id >= 0) visit(length, units_[node].id);
    }
  }

  /// Returns the id of the piece, or -1.
  [[nodiscard]] TokenId find(std::string_view piece) const noexcept;

  /// Returns the length of the longest piece that `text` begins with, or 0.
  [[nodiscard]] std::uint32_t longest_prefix(std::string_view text) const noexcept;

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // A node is a unit, and its child for a byte is the unit at `children` plus the byte, if that
  // unit's `parent` is the node. There are at least 256 units from each `children` on.
  struct Unit {
    std::uint32_t children = 0;
    std::uint32_t parent = kNone;
    TokenId id = -1;
  };

  [[nodiscard]] std::uint32_t place(const std::vector<unsigned char>& labels);

  std::vector<Unit> units_ = std::vector<Unit>(512);
  std::size_t first_free_ = 1;  // where place() begins to search
};

}  // namespace gpt2
