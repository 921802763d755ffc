#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include <utf8proc.h>

#include "base/utf8.h"

namespace gpt2 {
namespace {

// The files of a byte-level BPE spell every byte as one printable character: the bytes 33-126,
// 161-172 and 174-255 as the code point of the same number, the other 68 in ascending order as
// U+0100 to U+0143 (a space is U+0120, "Ġ").
constexpr std::size_t kCharacters = 0x100 + 68;

constexpr bool stands_for_itself(std::size_t byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

struct Alphabet {
  std::array<std::int16_t, kCharacters> bytes{};  // by code point; -1 if not in the alphabet
  std::array<std::uint16_t, 256> characters{};    // code points, by byte
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  alphabet.bytes.fill(-1);
  std::size_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::size_t character = stands_for_itself(byte) ? byte : next++;
    alphabet.bytes[character] = static_cast<std::int16_t>(byte);
    alphabet.characters[byte] = static_cast<std::uint16_t>(character);
  }
  return alphabet;
}();

// Appends the bytes that `spelled` stands for. Returns false, and leaves `bytes` unchanged, if
// `spelled` is not valid UTF-8 or has a character outside the alphabet.
bool append_spelled_bytes(std::string& bytes, std::string_view spelled) {
  const std::size_t before = bytes.size();
  while (!spelled.empty()) {
    const Utf8Char c = decode_utf8(spelled);  // code point 0 if invalid, which spells nothing
    if (c.code_point >= kCharacters || kAlphabet.bytes[c.code_point] < 0) {
      bytes.resize(before);
      return false;
    }
    bytes += static_cast<char>(kAlphabet.bytes[c.code_point]);
    spelled.remove_prefix(c.length);
  }
  return true;
}

}  // namespace

bool Vocabulary::insert(std::string_view name, TokenId id, Kind kind) {
  const auto index = static_cast<std::size_t>(id);
  if (index < tokens_.size() && tokens_[index].kind != Kind::none) return false;
  if (2 * (count_ + 1) > slots_.size()) grow();
  const std::uint32_t hash = hash_of(name);
  Slot& slot = slots_[slot_of(name, hash)];
  if (slot.id >= 0) return false;
  slot = {hash, id};
  ++count_;

  const std::size_t begin = text_.size();
  text_ += name;
  if (kind == Kind::literal || !append_spelled_bytes(text_, name)) {
    kind = Kind::literal;
    text_ += name;
  }
  if (index >= tokens_.size()) tokens_.resize(index + 1);
  tokens_[index] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(name.size()),
                    static_cast<std::uint32_t>(text_.size() - begin - name.size()), kind};
  return true;
}

std::optional<TokenId> Vocabulary::find(std::string_view name) const noexcept {
  const TokenId id = slots_[slot_of(name, hash_of(name))].id;
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<TokenId> Vocabulary::find_bytes(std::string_view bytes) const {
  if (uses_names_) return find(bytes);
  std::string spelled;
  for (const char byte : bytes) append_spelled(spelled, byte);
  const std::optional<TokenId> id = find(spelled);
  return id && tokens_[static_cast<std::size_t>(*id)].kind == Kind::spelled ? id : std::nullopt;
}

std::string_view Vocabulary::bytes(TokenId id) const noexcept {
  if (uses_names_ || name(id).empty()) return name(id);
  const Token& token = tokens_[static_cast<std::size_t>(id)];
  return std::string_view(text_).substr(token.name + token.name_length, token.length);
}

std::string_view Vocabulary::name(TokenId id) const noexcept {
  if (id < 0 || static_cast<std::size_t>(id) >= tokens_.size()) return {};
  const Token& token = tokens_[static_cast<std::size_t>(id)];
  return std::string_view(text_).substr(token.name, token.name_length);
}

// The hash is a polynomial whose coefficients are the bytes of the name, evaluated at a secret
// point, modulo 2^61 - 1. Few names collide, whatever names a file contains (Carter and Wegman,
// 1979). With std::hash, the author of a file could choose names that collide, whatever the seed.
std::uint32_t Vocabulary::hash_of(std::string_view name) const noexcept {
  constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
  std::uint64_t sum = name.size();
  while (!name.empty()) {
    std::uint64_t coefficient = 0;
    const std::size_t length = std::min(name.size(), std::size_t{7});
    std::memcpy(&coefficient, name.data(), length);
    name.remove_prefix(length);
    __extension__ using Product = unsigned __int128;
    const Product product = Product{sum + coefficient} * secret_;
    sum = static_cast<std::uint64_t>(product & kPrime) + static_cast<std::uint64_t>(product >> 61);
  }
  return static_cast<std::uint32_t>(sum >> 20);
}

// Returns the slot that holds the token, or the empty slot in which it would be inserted.
std::size_t Vocabulary::slot_of(std::string_view name, std::uint32_t hash) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id < 0) return i;
    if (slot.hash == hash && this->name(slot.id) == name) return i;
  }
}

void append_utf8(std::string& out, char32_t c) {
  utf8proc_uint8_t bytes[4];
  const auto n = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
}

void append_spelled(std::string& out, char byte) {
  append_utf8(out, kAlphabet.characters[static_cast<unsigned char>(byte)]);
}

std::string byte_piece(std::size_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

bool read_byte_piece(std::string_view name, unsigned& byte) noexcept {
  return name.size() == 6 && name.starts_with("<0x") && name.ends_with('>') &&
         std::from_chars(name.data() + 3, name.data() + 5, byte, 16).ptr == name.data() + 5;
}

void Vocabulary::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  for (const Slot& slot : old) {
    if (slot.id >= 0) slots_[slot_of(name(slot.id), slot.hash)] = slot;
  }
}

PieceTrie::PieceTrie(std::vector<Entry> entries)
    : nodes_(std::bit_ceil(4 * entries.size() + 1)),
      mask_(static_cast<std::uint32_t>(nodes_.size() - 1)) {
  std::ranges::stable_sort(entries, {}, &Entry::first);
  struct Range {  // the entries that share the first `depth` bytes, which lead to the node
    std::uint32_t node;
    std::size_t begin, end, depth;
  };
  std::vector<Range> open = {{kRoot, 0, entries.size(), 0}};
  while (!open.empty()) {
    auto [node, begin, end, depth] = open.back();
    open.pop_back();
    if (node != kRoot) {
      // The texts are sorted, so all of them share what the first and the last one share.
      const std::string_view first = entries[begin].first.substr(depth);
      const std::string_view last = entries[end - 1].first.substr(depth);
      const auto more = std::ranges::mismatch(first, last).in1 - first.begin();
      nodes_[node].label = static_cast<std::uint32_t>(text_.size());
      nodes_[node].label_length = static_cast<std::uint16_t>(more);
      text_.append(first, 0, nodes_[node].label_length);
      depth += nodes_[node].label_length;
    }
    while (begin < end && entries[begin].first.size() == depth) {
      nodes_[node].id = entries[begin++].second;
    }
    while (begin < end) {
      const std::size_t first = begin;
      const char byte = entries[begin].first[depth];
      while (begin < end && entries[begin].first[depth] == byte) ++begin;
      const std::uint32_t child = child_of(node, byte);
      nodes_[child] = {.parent = node, .byte = byte};
      open.push_back({child, first, begin, depth + 1});
    }
  }
}

TokenId PieceTrie::find(std::string_view piece) const noexcept {
  const Match longest = longest_prefix(piece);
  return longest.length == piece.size() ? longest.id : -1;
}

}  // namespace gpt2
