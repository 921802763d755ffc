#include "requests/nearest.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gpt2 {
namespace {

// Returns the edit distance: the min number of letters that must be inserted, removed, replaced or
// swapped with their neighbour to turn `a` into `b`.
std::size_t edits(std::string_view a, std::string_view b) {
  // count[i][j] is the distance between the first i letters of a and the first j letters of b.
  std::vector count(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      count[i][j] = i + j;
      if (i == 0 || j == 0) continue;
      count[i][j] = std::min(
          {count[i - 1][j] + 1, count[i][j - 1] + 1, count[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        count[i][j] = std::min(count[i][j], count[i - 2][j - 2] + 1);
      }
    }
  }
  return count.back().back();
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> names) {
  // A word that is much longer than every name is far from all of them. Its table of distances
  // would take 24 bytes and more for each letter, and a word in a request may have millions.
  const auto longest = std::ranges::max_element(names, {}, &std::string::size);
  if (word.size() > 2 * longest->size()) return "";
  const auto distance = [word](std::string_view name) {
    return word.size() > 2 && name.starts_with(word) ? 0 : edits(word, name);
  };
  const auto is_far = [&](std::string_view name) { return distance(name) > name.size() / 3; };
  const auto name = std::ranges::min_element(
      names, {}, [&](std::string_view n) { return std::pair(is_far(n), distance(n)); });
  return is_far(*name) ? "" : *name;
}

}  // namespace gpt2
