#include "text/piece_trie.h"

#include <algorithm>

namespace gpt2 {

PieceTrie::PieceTrie(std::vector<Entry> entries) {
  std::ranges::stable_sort(entries, {}, &Entry::first);
  struct Range {  // the entries that share the first `depth` bytes, which lead to the node
    std::uint32_t node;
    std::size_t begin, end, depth;
  };
  std::vector<Range> open = {{0, 0, entries.size(), 0}};
  std::vector<unsigned char> labels;
  const auto label = [&](std::size_t entry, std::size_t depth) {
    return static_cast<unsigned char>(entries[entry].first[depth]);
  };
  while (!open.empty()) {
    auto [node, begin, end, depth] = open.back();
    open.pop_back();
    while (begin < end && entries[begin].first.size() == depth) {
      units_[node].id = entries[begin++].second;
    }
    if (begin == end) continue;
    labels.clear();
    for (std::size_t i = begin; i < end; ++i) {
      if (labels.empty() || labels.back() != label(i, depth)) labels.push_back(label(i, depth));
    }
    const std::uint32_t children = units_[node].children = place(labels);
    for (const unsigned char byte : labels) {
      const std::size_t first = begin;
      while (begin < end && label(begin, depth) == byte) ++begin;
      units_[children + byte].parent = node;
      open.push_back({children + byte, first, begin, depth + 1});
    }
  }
}

// Returns a place for children with these labels, which ascend. The search leaves behind what is
// too full, so that it takes linear time in all.
std::uint32_t PieceTrie::place(const std::vector<unsigned char>& labels) {
  constexpr std::size_t kWindow = 512;
  const auto is_free = [&](std::size_t unit) { return units_[unit].parent == kNone; };
  while (!is_free(first_free_)) ++first_free_;
  std::size_t base = first_free_ - std::min<std::size_t>(first_free_ - 1, labels.front());
  while (!std::ranges::all_of(labels, [&](unsigned char l) { return is_free(base + l); })) {
    if (++base + kWindow > units_.size()) units_.resize(base + 2 * kWindow);
  }
  if (base > first_free_ + kWindow) first_free_ = base - kWindow;
  units_.resize(std::max(units_.size(), base + 2 * kWindow));
  return static_cast<std::uint32_t>(base);
}

TokenId PieceTrie::find(std::string_view piece) const noexcept {
  TokenId found = -1;
  for_each_prefix(piece, [&](std::uint32_t length, TokenId id) {
    if (length == piece.size()) found = id;
  });
  return found;
}

std::uint32_t PieceTrie::longest_prefix(std::string_view text) const noexcept {
  std::uint32_t longest = 0;
  for_each_prefix(text, [&](std::uint32_t length, TokenId) { longest = length; });
  return longest;
}

}  // namespace gpt2
