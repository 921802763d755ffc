#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gpt2/config.h"

namespace gpt2 {

/// Finds many strings in a text in one pass. The time does not depend on the number of strings or
/// on how they overlap (Aho and Corasick, 1975).
class TokenFinder {
 public:
  struct Match {
    std::size_t begin;
    TokenId token;
  };

  /// Adds a string. REQUIRES: it is not empty and was not added before; token >= 0.
  void add(std::string_view content, TokenId token);

  /// Must be called after the last `add` and before searching.
  void prepare();

  /// Returns, for every position where strings begin, the longest of these strings. The last
  /// position comes first.
  [[nodiscard]] std::vector<Match> find(std::string_view text) const;

 private:
  // The strings are stored reversed, and the text is read from its end, so that the automaton's
  // state at a position determines which strings begin there.
  struct Node {
    unsigned char byte = 0;
    std::uint32_t child = 0;     // the first child; 0, the root, stands for none
    std::uint32_t sibling = 0;   // the next child of the same parent
    std::uint32_t fallback = 0;  // the node of the longest proper suffix
    TokenId token = -1;          // the token of the longest string that is a suffix
  };

  [[nodiscard]] std::uint32_t child_of(std::uint32_t node, unsigned char byte) const noexcept;
  [[nodiscard]] std::uint32_t step(std::uint32_t node, unsigned char byte) const noexcept;

  std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace gpt2
