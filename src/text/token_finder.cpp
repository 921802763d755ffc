#include "text/token_finder.h"

namespace gpt2 {

void TokenFinder::add(std::string_view content, TokenId token) {
  std::uint32_t node = 0;
  for (std::size_t i = content.size(); i-- > 0;) {
    const auto byte = static_cast<unsigned char>(content[i]);
    std::uint32_t child = child_of(node, byte);
    if (child == 0) {
      child = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({.byte = byte, .sibling = nodes_[node].child});
      nodes_[node].child = child;
    }
    node = child;
  }
  nodes_[node].token = token;
}

void TokenFinder::prepare() {
  std::vector<std::uint32_t> by_depth = {0};
  for (std::size_t i = 0; i < by_depth.size(); ++i) {
    const std::uint32_t parent = by_depth[i];
    for (std::uint32_t c = nodes_[parent].child; c != 0; c = nodes_[c].sibling) {
      Node& node = nodes_[c];
      if (parent != 0) node.fallback = step(nodes_[parent].fallback, node.byte);
      if (node.token < 0) node.token = nodes_[node.fallback].token;
      by_depth.push_back(c);
    }
  }
}

std::vector<TokenFinder::Match> TokenFinder::find(std::string_view text) const {
  std::vector<Match> matches;
  if (nodes_.size() == 1) return matches;
  std::uint32_t node = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    node = step(node, static_cast<unsigned char>(text[i]));
    if (nodes_[node].token >= 0) matches.push_back({i, nodes_[node].token});
  }
  return matches;
}

std::uint32_t TokenFinder::child_of(std::uint32_t node, unsigned char byte) const noexcept {
  std::uint32_t child = nodes_[node].child;
  while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].sibling;
  return child;
}

std::uint32_t TokenFinder::step(std::uint32_t node, unsigned char byte) const noexcept {
  std::uint32_t child = child_of(node, byte);
  while (child == 0 && node != 0) child = child_of(node = nodes_[node].fallback, byte);
  return child;
}

}  // namespace gpt2
