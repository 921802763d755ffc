#include "text/models.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/fail.h"
#include "base/utf8.h"

namespace gpt2 {
namespace {

constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t pair_of(TokenId left, TokenId right) noexcept {
  return static_cast<std::uint64_t>(left) << MergeTable::kBits | static_cast<std::uint64_t>(right);
}

}  // namespace

MergeTable::MergeTable(const MergeList& merges, const Vocabulary& vocabulary)
    : shift_(64 -
             static_cast<int>(std::bit_width(2 * std::max<std::size_t>(merges.pairs.size(), 1)))),
      slots_(std::size_t{1} << (64 - shift_), kEmpty) {
  merged_.reserve(merges.pairs.size());
  TokenId merged = 0;
  for (const auto& names : merges.pairs) {
    const std::string &left = names.first, &right = names.second;
    const auto id_of = [&](std::string_view token) {
      if (const auto id = vocabulary.find(token)) return *id;
      fail(merges.where, "merge ", merged_.size() + 1, ", ", quote(left), " with ", quote(right),
           ": expected only tokens of the vocabulary, found ", quote(token));
    };
    const std::uint64_t pair = pair_of(id_of(left), id_of(right));
    // Ids mostly follow the order of the merges, so this tries the next id before it searches.
    const std::string_view next = vocabulary.name(merged + 1);
    const bool is_next = next.size() == left.size() + right.size() && next.starts_with(left) &&
                         next.ends_with(right);
    merged = is_next ? merged + 1 : id_of(left + right);
    slots_[slot_of(pair)] = pair << kBits | merged_.size();
    merged_.push_back(merged);
  }
}

MergeTable::Rank MergeTable::rank_of(TokenId left, TokenId right) const noexcept {
  const std::uint64_t slot = slots_[slot_of(pair_of(left, right))];
  return slot == kEmpty ? Symbols::kNever : static_cast<Rank>(slot & ((1u << kBits) - 1));
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
  if (pairs.size() == kMaxMerges) {
    fail(where, "expected at most ", kMaxMerges, " merges, found more");
  }
  if (!left.empty() && !right.empty()) pairs.emplace_back(left, right);
  return !left.empty() && !right.empty();
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
    fail(where, "line ", number, ": expected two tokens and one space between them, found ",
         quote(line));
  }
}

Bpe::Bpe(const Vocabulary& vocabulary, MergeTable merges, const Options& options)
    : vocabulary_(&vocabulary), merges_(std::move(merges)), options_(options) {
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const std::string name =
        options_.of_characters ? byte_piece(byte) : std::string(1, static_cast<char>(byte));
    byte_ids_[byte] = vocabulary.find_bytes(name).value_or(-1);
  }
}

void Bpe::encode(std::string_view word, Symbols& symbols, TokenSink& out) const {
  if (options_.ignore_merges) {
    if (const auto id = vocabulary_->find_bytes(word)) return out.add(*id, word.size());
  }
  split_into_symbols(word, symbols, out);
  symbols.merge(
      [&](const auto& left, const auto& right) { return merges_.rank_of(left.id, right.id); },
      [&](const auto& left, const auto&) { return merges_.merged(left.rank); });
  symbols.for_each([&](TokenId id, std::uint32_t end) { out.add(id, end); });
}

void Bpe::split_into_symbols(std::string_view word, Symbols& symbols, TokenSink& out) const {
  symbols.clear();
  bool after_unknown = false;
  const bool of_characters = options_.of_characters;
  for (std::size_t begin = 0, size = 1; begin < word.size(); begin += size) {
    TokenId id = byte_ids_[static_cast<unsigned char>(word[begin])];
    if (of_characters) [[unlikely]] {
      size = decode_utf8(word.substr(begin)).length;
      const std::string_view character = word.substr(begin, size);
      id = vocabulary_->find(character).value_or(-1);
      if (id < 0 && options_.byte_fallback && has_bytes(character)) {
        for (const char c : character) symbols.add(byte_ids_[static_cast<unsigned char>(c)], begin);
        after_unknown = false;
        continue;
      }
    }
    const bool is_unknown = id < 0;
    if (is_unknown) {
      out.lose(begin, begin + size);
      if (!options_.unknown || (after_unknown && options_.fuse_unknown)) continue;
      id = *options_.unknown;
    }
    after_unknown = is_unknown;
    symbols.add(id, begin);
  }
  symbols.finish(word.size());
}

bool Bpe::has_bytes(std::string_view character) const {
  return std::ranges::all_of(character,
                             [&](char c) { return byte_ids_[static_cast<unsigned char>(c)] >= 0; });
}

}  // namespace gpt2
