#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gpt2/config.h"

namespace gpt2 {

/// Finds many strings in a text at once, in time that does not depend on how many there are or how
/// they overlap (Aho and Corasick, 1975).
class TokenFinder {
 public:
  struct Match {
    std::size_t begin;
    TokenId token;
  };

  /// `content` must be no empty string and not be there yet, `token` not negative.
  void add(std::string_view content, TokenId token);

  /// To be called after the last `add`.
  void prepare();

  /// For every position where some of the strings begin, the longest of them; last position first.
  [[nodiscard]] std::vector<Match> find(std::string_view text) const;

 private:
  // The strings are kept back to front and the text is read from its end, so that what the
  // automaton knows at a position is about the strings that begin there.
  struct Node {
    unsigned char byte = 0;
    std::uint32_t child = 0;     // the first; 0, which is nobody's child: none
    std::uint32_t sibling = 0;   // the next child of the same parent
    std::uint32_t fallback = 0;  // the node of the longest proper suffix
    TokenId token = -1;          // of the longest string that is a suffix
  };

  [[nodiscard]] std::uint32_t child_of(std::uint32_t node, unsigned char byte) const noexcept;
  [[nodiscard]] std::uint32_t step(std::uint32_t node, unsigned char byte) const noexcept;

  std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace gpt2
