#include "text/vocabulary.h"

#include <algorithm>
#include <cstring>

#include "text/byte_alphabet.h"

namespace gpt2 {

std::size_t NameHash::operator()(std::string_view name) const noexcept {
  constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
  std::uint64_t sum = name.size();
  while (!name.empty()) {
    std::uint64_t coefficient = 0;
    const std::size_t length = std::min(name.size(), std::size_t{7});
    std::memcpy(&coefficient, name.data(), length);
    name.remove_prefix(length);
    const auto product = static_cast<unsigned __int128>(sum + coefficient) * point;
    sum = static_cast<std::uint64_t>(product & kPrime) + static_cast<std::uint64_t>(product >> 61);
  }
  return sum;
}

Vocabulary::Inserted Vocabulary::insert(std::string_view name, TokenId id) {
  const std::size_t begin = text_.size();
  if (!append_spelled_bytes(text_, name)) return insert_literal(name, id);
  return insert_last(name, id, begin, Token::Kind::spelled);
}

Vocabulary::Inserted Vocabulary::insert_literal(std::string_view name, TokenId id) {
  const std::size_t begin = text_.size();
  text_ += name;
  return insert_last(name, id, begin, Token::Kind::literal);
}

// The token's bytes are what text_ holds from `begin` on.
Vocabulary::Inserted Vocabulary::insert_last(std::string_view name, TokenId id, std::size_t begin,
                                             Token::Kind kind) {
  const auto index = static_cast<std::size_t>(id);
  const bool is_repeated_id = index < tokens_.size() && tokens_[index].kind != Token::Kind::none;
  if (is_repeated_id || !ids_.try_emplace(std::string(name), id).second) {
    text_.resize(begin);
    return is_repeated_id ? Inserted::repeated_id : Inserted::repeated_token;
  }
  if (index >= tokens_.size()) tokens_.resize(index + 1);
  tokens_[index] = {static_cast<std::uint32_t>(begin),
                    static_cast<std::uint32_t>(text_.size() - begin), kind};
  return Inserted::yes;
}

std::optional<TokenId> Vocabulary::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TokenId> Vocabulary::find_bytes(std::string_view bytes) const {
  const std::optional<TokenId> id = find(spell(bytes));
  if (!id || tokens_[static_cast<std::size_t>(*id)].kind == Token::Kind::literal) return {};
  return id;
}

std::string_view Vocabulary::bytes(TokenId id) const noexcept {
  if (id < 0 || static_cast<std::size_t>(id) >= tokens_.size()) return {};
  const Token& token = tokens_[static_cast<std::size_t>(id)];
  return std::string_view(text_).substr(token.begin, token.length);
}

}  // namespace gpt2
