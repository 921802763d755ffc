#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/char_class.h"

namespace gpt2 {
namespace {

bool is_space(const Utf8Char& c) {
  return c.kind == Utf8Char::Kind::valid && class_of(c.code_point) == CharClass::space;
}

bool is_part_of_word(const Utf8Char& c) {
  return c.kind == Utf8Char::Kind::valid && is_word_char(c.code_point);
}

// The character that `text`, which is not empty, ends with; invalid where it ends in anything else.
Utf8Char last_char(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    const Utf8Char c = decode_utf8(text.substr(text.size() - length));
    if (c.kind == Utf8Char::Kind::valid && c.length == length) return c;
  }
  return {Utf8Char::Kind::invalid, 1, 0};
}

std::size_t space_at_begin(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const Utf8Char c = decode_utf8(text.substr(length));
    if (!is_space(c)) break;
    length += c.length;
  }
  return length;
}

std::size_t space_at_end(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const Utf8Char c = last_char(text.substr(0, text.size() - length));
    if (!is_space(c)) break;
    length += c.length;
  }
  return length;
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_part_of_word(last_char(text.substr(0, begin)))) &&
         (end == text.size() || !is_part_of_word(decode_utf8(text.substr(end))));
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    passes_[tokens_[i].normalized ? 1 : 0].add(tokens_[i].content, i);
    if (tokens_[i].special) special_ids_.push_back(tokens_[i].id);
  }
  for (TokenFinder& pass : passes_) pass.prepare();
  std::sort(special_ids_.begin(), special_ids_.end());
}

bool AddedTokens::is_special(TokenId id) const noexcept {
  return std::binary_search(special_ids_.begin(), special_ids_.end(), id);
}

std::vector<AddedTokens::Piece> AddedTokens::split(std::string_view text,
                                                   bool parse_special) const {
  std::vector<Piece> first;
  split(text, passes_[0], parse_special, first);
  std::vector<Piece> pieces;
  for (const Piece& piece : first) {
    if (piece.token) {
      pieces.push_back(piece);
    } else {
      split(piece.text, passes_[1], parse_special, pieces);
    }
  }
  return pieces;
}

// Step by step what AddedVocabulary::find_matches does, so that odd combinations (white space that
// is a token itself beside one that strips) come out the same; in linear time, though.
void AddedTokens::split(std::string_view text, const TokenFinder& finder, bool parse_special,
                        std::vector<Piece>& pieces) const {
  const std::vector<TokenFinder::Match> matches = finder.find(text);
  std::size_t done = 0;         // everything before is in `pieces`
  std::size_t search_from = 0;  // matches do not overlap
  std::size_t space_until = 0;  // the end of the white space that an rstrip last ran through
  for (auto match = matches.rbegin(); match != matches.rend(); ++match) {
    const AddedToken& token = tokens_[match->token];
    std::size_t begin = match->begin;
    std::size_t end = begin + token.content.size();
    if (begin < search_from) continue;
    search_from = end;
    if (token.special && !parse_special) continue;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.lstrip) {
      begin =
          std::max(begin, done) - space_at_end(text.substr(done, begin - std::min(begin, done)));
    }
    if (token.rstrip) {
      end = std::max(end, space_until);
      end += space_at_begin(text.substr(end));
      space_until = end;
    }
    if (done < begin) pieces.push_back({text.substr(done, begin - done), nullptr});
    pieces.push_back({{}, &token});
    done = end;
  }
  if (done < text.size()) pieces.push_back({text.substr(done), nullptr});
}

}  // namespace gpt2
