#include "text/merges.h"

#include <algorithm>
#include <bit>

#include "base/fail.h"

namespace gpt2 {
namespace {

constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t pair_of(TokenId left, TokenId right) noexcept {
  return static_cast<std::uint64_t>(left) << MergeTable::kBits | static_cast<std::uint64_t>(right);
}

}  // namespace

MergeTable::MergeTable(std::size_t capacity)
    : shift_(64 - static_cast<int>(std::bit_width(2 * std::max(capacity, std::size_t{1})))),
      slots_(std::size_t{1} << (64 - shift_), kEmpty) {
  merged_.reserve(capacity);
}

void MergeTable::push_back(TokenId left, TokenId right, TokenId merged) {
  const std::uint64_t pair = pair_of(left, right);
  slots_[slot_of(pair)] = pair << kBits | merged_.size();
  merged_.push_back(merged);
}

MergeTable::Rank MergeTable::rank_of(TokenId left, TokenId right) const noexcept {
  const std::uint64_t slot = slots_[slot_of(pair_of(left, right))];
  return slot == kEmpty ? kNever : static_cast<Rank>(slot & ((1u << kBits) - 1));
}

// Returns the slot that holds the pair, or the empty slot in which it would be inserted. This is
// multiplicative hashing (Dietzfelbinger and others, 1997). Because the multiplier is secret, the
// author of a file cannot choose pairs that collide.
std::size_t MergeTable::slot_of(std::uint64_t pair) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = static_cast<std::size_t>((pair * multiplier_) >> shift_);
  while (slots_[i] >> kBits != pair && slots_[i] != kEmpty) i = (i + 1) & mask;
  return i;
}

bool MergeList::add(std::string_view left, std::string_view right) {
  if (pairs_.size() == MergeTable::kMaxMerges) {
    fail(where_, "expected at most ", MergeTable::kMaxMerges, " merges, found more");
  }
  if (left.empty() || right.empty()) return false;
  pairs_.push_back({left.size(), left.size() + right.size()});
  text_.append(left).append(right);
  return true;
}

bool MergeList::add(std::string_view line) {
  const std::size_t space = line.find(' ');
  return space != line.npos && space == line.rfind(' ') &&
         add(line.substr(0, space), line.substr(space + 1));
}

void MergeList::add_lines(std::string_view text) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t length = text.find('\n');
    std::string_view line = text.substr(0, length);
    text.remove_prefix(length == text.npos ? text.size() : length + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version") || add(line)) continue;
    fail(where_, "line ", number, ": expected two tokens and one space between them, found ",
         quote(line));
  }
}

MergeTable MergeList::resolve(const Vocabulary& vocabulary) const {
  MergeTable table(pairs_.size());
  TokenId merged = 0;
  std::string_view rest = text_;
  for (std::size_t rank = 0; rank < pairs_.size(); ++rank) {
    const std::string_view both = rest.substr(0, pairs_[rank].length);
    const std::string_view left = both.substr(0, pairs_[rank].left_length);
    const std::string_view right = both.substr(left.size());
    rest.remove_prefix(both.size());
    const auto id_of = [&](std::string_view token) {
      if (const auto id = vocabulary.find(token)) return *id;
      fail(where_, "merge ", rank + 1, ", ", quote(left), " with ", quote(right),
           ": expected only tokens of the vocabulary, found ", quote(token));
    };
    const TokenId left_id = id_of(left);
    const TokenId right_id = id_of(right);
    // Ids mostly follow the order of the merges, so this tries the next id before it searches.
    merged = vocabulary.name(merged + 1) == both ? merged + 1 : id_of(both);
    table.push_back(left_id, right_id, merged);
  }
  return table;
}

}  // namespace gpt2
