#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "base/utf8.h"
#include "text/pretokenizer.h"

namespace gpt2 {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const std::string& where, const AddedToken& token, const Parts&... parts) {
  fail(where, "the added token ", quote(token.content), " ", parts...);
}

// Sets the token's id, and adds the token to the vocabulary if it is new. HuggingFace's tokenizers
// library numbers new tokens itself, and only warns if the file has another number. This function
// uses the number in the file, because the model was trained with it.
void resolve_id(AddedToken& token, Vocabulary& vocabulary, const std::string& where) {
  if (const auto known = vocabulary.find(token.content)) {
    if (token.id >= 0 && token.id != *known) {
      refuse(where, token, "has the id ", token.id, ", but already has the id ", *known);
    }
    token.id = *known;
    return;
  }
  if (token.id < 0) token.id = static_cast<TokenId>(vocabulary.size());
  if (token.id >= Vocabulary::kMaxTokens) {
    refuse(where, token, "would have the id ", token.id, "; expected at most ",
           Vocabulary::kMaxTokens - 1);
  }
  if (!vocabulary.insert(token.content, token.id, Vocabulary::Kind::literal)) {
    refuse(where, token, "has the id of ", quote(vocabulary.bytes(token.id)), ", ", token.id,
           "; expected one of its own");
  }
}

std::string_view without_space_at_end(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char last = last_utf8(text);
    if (class_of(last.code_point) != CharClass::space) break;
    text.remove_suffix(last.length);
  }
  return text;
}

// Returns whether no word character is next to the match. An invalid byte is decoded as code point
// 0, which is not a word character.
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word_char(last_utf8(text.substr(0, begin)).code_point)) &&
         (end == text.size() || !is_word_char(decode_utf8(text.substr(end)).code_point));
}

}  // namespace

TokenId AddedTokens::declare(AddedToken token, const std::string& where, IfKnown if_known) {
  if (token.content.empty()) return -1;
  const std::size_t n_known = vocabulary_.count();
  resolve_id(token, vocabulary_, where);
  n_new_ += vocabulary_.count() - n_known;
  const auto [place, is_new] = tokens_.try_emplace(token.id, token);
  if (is_new) bytes_ += token.content.size();
  if (bytes_ > kMaxBytes) {
    refuse(where, token, "brings the added tokens to more than ", kMaxBytes, " bytes");
  }
  AddedToken& known = place->second;
  token.special |= known.special;
  if (if_known == IfKnown::replace) known = token;
  known.special = token.special;
  return known.id;
}

void AddedTokens::prepare(const std::function<std::string(std::string_view)>& normalize) {
  for (auto& [id, token] : tokens_) {
    const std::string matched = token.normalized ? normalize(token.content) : token.content;
    token.n_matched = matched.size();
    passes_[token.normalized ? 1 : 0].add(matched, id);
  }
  for (TokenFinder& pass : passes_) pass.prepare();
}

bool AddedTokens::is_special(TokenId id) const noexcept {
  const auto found = tokens_.find(id);
  return found != tokens_.end() && found->second.special;
}

// This follows AddedVocabulary::find_matches step by step, so that unusual combinations give the
// same result (for example, a token of white space next to one that strips white space). Unlike
// that function, it takes linear time.
std::vector<AddedTokens::Piece> AddedTokens::split(std::string_view text, std::size_t pass,
                                                   bool parse_special) const {
  std::vector<Piece> pieces;
  const std::vector<TokenFinder::Match> matches = passes_[pass].find(text);
  std::size_t done = 0;         // the text before this is in `pieces`
  std::size_t search_from = 0;  // where the next match may begin, because matches do not overlap
  std::size_t space_until = 0;  // the end of the white space that the last rstrip removed
  for (auto match = matches.rbegin(); match != matches.rend(); ++match) {
    const AddedToken& token = tokens_.find(match->token)->second;
    std::size_t begin = match->begin;
    std::size_t end = begin + token.n_matched;
    if (begin < search_from) continue;
    search_from = end;
    if (token.special && !parse_special) continue;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.lstrip && begin > done) {
      begin = done + without_space_at_end(text.substr(done, begin - done)).size();
    }
    if (token.rstrip) {
      end = std::max(end, space_until);
      end += run_length(text.substr(end), CharClass::space);
      space_until = end;
    }
    if (done < begin) pieces.push_back({text.substr(done, begin - done), nullptr});
    pieces.push_back({text.substr(begin, end - begin), &token});
    done = end;
  }
  if (done < text.size()) pieces.push_back({text.substr(done), nullptr});
  return pieces;
}

void TokenFinder::add(std::string_view content, TokenId token) {
  if (content.empty()) return;
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
  if (nodes_[node].token < 0) nodes_[node].token = token;
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
