#include "text/bpe.h"

#include <utility>

namespace gpt2 {
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
    const char c = static_cast<char>(byte);
    byte_ids_[byte] = vocabulary.find_bytes({&c, 1}).value_or(-1);
  }
}

std::size_t Bpe::encode(std::string_view word, const Vocabulary& vocabulary, Scratch& scratch,
                        std::vector<TokenId>& ids) const {
  if (options_.ignore_merges) {
    if (const auto id = vocabulary.find_bytes(word)) {
      ids.push_back(*id);
      return 0;
    }
  }
  const std::size_t unknown_bytes = split_into_symbols(word, scratch);
  if (scratch.symbols.empty()) return unknown_bytes;
  merge_symbols(scratch);
  // The first symbol is never the right one of a pair, so no merge has removed it.
  for (std::uint32_t i = 0; i != kNone; i = scratch.symbols[i].next) {
    ids.push_back(scratch.symbols[i].id);
  }
  return unknown_bytes;
}

std::size_t Bpe::split_into_symbols(std::string_view word, Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  std::size_t unknown_bytes = 0;
  bool after_unknown = false;
  for (const char c : word) {
    TokenId id = byte_ids_[static_cast<unsigned char>(c)];
    const bool is_unknown = id < 0;
    if (is_unknown) {
      ++unknown_bytes;
      if (!options_.unknown || (after_unknown && options_.fuse_unknown)) continue;
      id = *options_.unknown;
    }
    after_unknown = is_unknown;
    const auto index = static_cast<std::uint32_t>(symbols.size());
    symbols.push_back({id, index - 1, index + 1, MergeTable::kNever});  // 0 - 1 is kNone
  }
  if (!symbols.empty()) symbols.back().next = kNone;
  return unknown_bytes;
}

// If the rank of a pair has changed since its entry was added to the queue, the entry is outdated
// and is skipped. Each merge removes a symbol and adds at most two entries, so n symbols cause
// fewer than 3 n entries.
void Bpe::merge_symbols(Scratch& scratch) const {
  auto& [symbols, queue] = scratch;
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
  auto& [symbols, queue] = scratch;
  auto& symbol = symbols[left];
  symbol.rank = MergeTable::kNever;
  if (symbol.next != kNone) symbol.rank = merges_.rank_of(symbol.id, symbols[symbol.next].id);
  if (symbol.rank == MergeTable::kNever) return;
  queue.push(queued(symbol.rank, left));
}

}  // namespace gpt2
