#include "text/vocabulary.h"

#include <algorithm>
#include <functional>

#include "text/byte_alphabet.h"

namespace gpt2 {
namespace {

constexpr std::size_t kFirstSlots = 1024;

std::uint32_t hash_of(std::string_view bytes) noexcept {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(bytes));
}

}  // namespace

Vocabulary::Inserted Vocabulary::insert(std::string_view spelled, TokenId id) {
  const std::size_t begin = text_.size();
  if (append_spelled_bytes(text_, spelled)) return insert_last(begin, Kind::spelled, id);
  return insert_literal(spelled, id);
}

Vocabulary::Inserted Vocabulary::insert_literal(std::string_view content, TokenId id) {
  const std::size_t begin = text_.size();
  text_ += content;
  return insert_last(begin, Kind::literal, id);
}

std::optional<TokenId> Vocabulary::find(std::string_view spelled) const {
  std::string bytes;
  if (append_spelled_bytes(bytes, spelled)) return find(bytes, Kind::spelled);
  return find(spelled, Kind::literal);
}

std::optional<TokenId> Vocabulary::find_bytes(std::string_view bytes) const noexcept {
  return find(bytes, Kind::spelled);
}

std::optional<TokenId> Vocabulary::find_literal(std::string_view content) const noexcept {
  return find(content, Kind::literal);
}

std::string_view Vocabulary::bytes(TokenId id) const noexcept {
  if (id < 0 || static_cast<std::size_t>(id) >= tokens_.size()) return {};
  const Token& token = tokens_[static_cast<std::size_t>(id)];
  return std::string_view(text_).substr(token.begin, token.length);
}

// The token is what text_ holds from `begin` on.
Vocabulary::Inserted Vocabulary::insert_last(std::size_t begin, Kind kind, TokenId id) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  const std::string_view bytes = std::string_view(text_).substr(begin);
  const std::uint32_t hash = hash_of(bytes);
  Slot& slot = slots_[slot_of(bytes, kind, hash)];
  const auto index = static_cast<std::size_t>(id);
  const bool is_repeated_id = index < tokens_.size() && tokens_[index].kind != Kind::none;
  if (is_repeated_id || slot.id >= 0) {
    text_.resize(begin);
    return is_repeated_id ? Inserted::repeated_id : Inserted::repeated_token;
  }
  slot = {hash, id};
  if (index >= tokens_.size()) tokens_.resize(index + 1);
  tokens_[index] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(bytes.size()),
                    kind};
  ++count_;
  return Inserted::yes;
}

std::optional<TokenId> Vocabulary::find(std::string_view bytes, Kind kind) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(bytes, kind, hash_of(bytes))];
  return slot.id >= 0 ? std::optional(slot.id) : std::nullopt;
}

// The slot that holds the token, or the empty one where it would go.
std::size_t Vocabulary::slot_of(std::string_view bytes, Kind kind,
                                std::uint32_t hash) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id < 0) return i;
    if (slot.hash == hash && this->bytes(slot.id) == bytes &&
        tokens_[static_cast<std::size_t>(slot.id)].kind == kind) {
      return i;
    }
  }
}

void Vocabulary::grow() {
  std::vector<Slot> old(std::max(kFirstSlots, 2 * slots_.size()));
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t i = slot.hash & mask;
    while (slots_[i].id >= 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

}  // namespace gpt2
