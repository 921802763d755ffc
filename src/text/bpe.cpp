#include "text/bpe.h"

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

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// Returns an entry of the queue. The queue is ordered by rank, and then from left to right.
constexpr std::uint64_t queued(MergeTable::Rank rank, std::uint32_t position) noexcept {
  return static_cast<std::uint64_t>(rank) << 32 | position;
}

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, MergeTable merges, const Options& options)
    : merges_(std::move(merges)), options_(options) {
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const std::string name =
        options_.of_characters ? byte_piece(byte) : std::string(1, static_cast<char>(byte));
    byte_ids_[byte] = vocabulary.find_bytes(name).value_or(-1);
  }
}

std::size_t Bpe::encode(std::string_view word, const Vocabulary& vocabulary, Scratch& scratch,
                        std::vector<TokenId>& ids, std::vector<std::uint32_t>* ends) const {
  const auto length = static_cast<std::uint32_t>(word.size());
  if (options_.ignore_merges) {
    if (const auto id = vocabulary.find_bytes(word)) {
      ids.push_back(*id);
      if (ends != nullptr) ends->push_back(length);
      return 0;
    }
  }
  const std::size_t unknown_bytes = split_into_symbols(word, vocabulary, ends != nullptr, scratch);
  const auto& symbols = scratch.symbols;
  if (symbols.empty()) return unknown_bytes;
  merge_symbols(scratch);
  // The first symbol is never the right one of a pair, so no merge has removed it.
  for (std::uint32_t i = 0; i != kNone; i = symbols[i].next) ids.push_back(symbols[i].id);
  for (std::uint32_t i = 0; ends != nullptr && i != kNone; i = symbols[i].next) {
    const std::uint32_t next = symbols[i].next;
    ends->push_back(next != kNone ? scratch.begins[next] : length);
  }
  return unknown_bytes;
}

std::size_t Bpe::split_into_symbols(std::string_view word, const Vocabulary& vocabulary,
                                    bool with_begins, Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  scratch.begins.clear();
  // Without the attribute, GCC calls this for every byte, and encoding takes 10 % longer.
  const auto add = [&](TokenId id, std::size_t begin) __attribute__((always_inline)) {
    const auto index = static_cast<std::uint32_t>(symbols.size());
    symbols.push_back({id, index - 1, index + 1, MergeTable::kNever});  // 0 - 1 is kNone
    if (with_begins) scratch.begins.push_back(static_cast<std::uint32_t>(begin));
  };
  std::size_t unknown_bytes = 0;
  bool after_unknown = false;
  const bool of_characters = options_.of_characters;
  for (std::size_t begin = 0, size = 1; begin < word.size(); begin += size) {
    TokenId id = byte_ids_[static_cast<unsigned char>(word[begin])];
    if (of_characters) [[unlikely]] {
      size = decode_utf8(word.substr(begin)).length;
      const std::string_view character = word.substr(begin, size);
      id = vocabulary.find(character).value_or(-1);
      if (id < 0 && options_.byte_fallback && has_bytes(character)) {
        for (const char c : character) add(byte_ids_[static_cast<unsigned char>(c)], begin);
        after_unknown = false;
        continue;
      }
    }
    const bool is_unknown = id < 0;
    if (is_unknown) {
      unknown_bytes += size;
      if (!options_.unknown || (after_unknown && options_.fuse_unknown)) continue;
      id = *options_.unknown;
    }
    after_unknown = is_unknown;
    add(id, begin);
  }
  if (!symbols.empty()) symbols.back().next = kNone;
  return unknown_bytes;
}

bool Bpe::has_bytes(std::string_view character) const {
  return std::ranges::all_of(character,
                             [&](char c) { return byte_ids_[static_cast<unsigned char>(c)] >= 0; });
}

// If the rank of a pair has changed since its entry was added to the queue, the entry is outdated
// and is skipped. Each merge removes a symbol and adds at most two entries, so n symbols cause
// fewer than 3 n entries.
void Bpe::merge_symbols(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& queue = scratch.queue;
  for (std::uint32_t i = 0; i < symbols.size(); ++i) look_up(scratch, i);
  while (!queue.empty()) {
    const std::uint64_t first = queue.top();
    queue.pop();
    const auto i = static_cast<std::uint32_t>(first);
    auto& left = symbols[i];
    if (queued(left.rank, i) != first) continue;

    auto& right = symbols[left.next];
    left.id = merges_.merged(left.rank);
    left.next = right.next;
    right.rank = MergeTable::kNever;
    if (left.next != kNone) symbols[left.next].previous = i;
    look_up(scratch, i);
    if (left.previous != kNone) look_up(scratch, left.previous);
  }
}

void Bpe::look_up(Scratch& scratch, std::uint32_t left) const {
  auto& symbols = scratch.symbols;
  auto& queue = scratch.queue;
  auto& symbol = symbols[left];
  symbol.rank = MergeTable::kNever;
  if (symbol.next != kNone) symbol.rank = merges_.rank_of(symbol.id, symbols[symbol.next].id);
  if (symbol.rank == MergeTable::kNever) return;
  queue.push(queued(symbol.rank, left));
}

}  // namespace gpt2
