#include "text/added_tokens.h"

#include "base/fail.h"
#include "base/utf8.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const AddedToken& token, const Parts&... parts) {
  fail(token.where, "the added token ", quote(token.content), " ", parts...);
}

// Sets the token's id, and adds the token to the vocabulary if it is new. HuggingFace's tokenizers
// library numbers new tokens itself, and only warns if the file has another number. This function
// uses the number in the file, because the model was trained with it.
void resolve_id(AddedToken& token, Vocabulary& vocabulary) {
  if (token.content.size() > PieceTrie::kMaxPieceBytes) {
    refuse(token, "has ", token.content.size(), " bytes; expected at most ",
           PieceTrie::kMaxPieceBytes);
  }
  if (const auto known = vocabulary.find(token.content)) {
    if (token.id >= 0 && token.id != *known) {
      refuse(token, "has the id ", token.id, ", but already has the id ", *known);
    }
    token.id = *known;
    return;
  }
  if (token.id < 0) token.id = static_cast<TokenId>(vocabulary.size());
  if (token.id >= Vocabulary::kMaxTokens) {
    refuse(token, "would have the id ", token.id, "; expected at most ",
           Vocabulary::kMaxTokens - 1);
  }
  if (!vocabulary.insert(token.content, token.id, Vocabulary::Kind::literal)) {
    refuse(token, "has the id of ", quote(vocabulary.bytes(token.id)), ", ", token.id,
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

TokenId AddedTokens::declare(AddedToken token, bool replaces) {
  if (token.content.empty()) return -1;
  const std::size_t n_known = vocabulary.count();
  resolve_id(token, vocabulary);
  n_new += vocabulary.count() - n_known;
  AddedToken& known = tokens.try_emplace(token.id, token).first->second;
  token.special |= known.special;
  if (replaces) known = token;
  known.special = token.special;
  return known.id;
}

void AddedTokens::prepare(const std::function<std::string(std::string_view)>& normalized) {
  for (const bool is_normalized : {false, true}) {
    std::deque<std::string> forms;
    std::vector<PieceTrie::Entry> entries;
    // Of tokens of the same form, the first one counts here, and the last one in the trie.
    for (auto at = tokens.rbegin(); at != tokens.rend(); ++at) {
      const auto& [id, token] = *at;
      if (token.normalized != is_normalized) continue;
      std::string form = is_normalized ? normalized(token.content) : token.content;
      if (form.empty() || form.size() > PieceTrie::kMaxPieceBytes) continue;
      entries.emplace_back(forms.emplace_back(std::move(form)), id);
    }
    passes[is_normalized] = PieceTrie(std::move(entries));
  }
}

// This follows AddedVocabulary::find_matches step by step, so that unusual combinations give the
// same result (for example, a token of white space next to one that strips white space). Unlike
// that function, it takes linear time.
std::vector<AddedTokens::Piece> AddedTokens::split(std::string_view text, std::size_t pass,
                                                   bool parse_special) const {
  std::vector<Piece> pieces;
  std::size_t done = 0;         // the text before this is in `pieces`
  std::size_t space_until = 0;  // the end of the white space that the last rstrip removed
  std::size_t at = passes[pass].is_empty() ? text.size() : 0;
  while (at < text.size()) {
    const auto [length, id] = passes[pass].longest_prefix(text.substr(at));
    std::size_t begin = at;
    at += std::max(length, 1u);
    if (length == 0) continue;
    std::size_t end = at;
    const AddedToken& token = tokens.find(id)->second;
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

}  // namespace gpt2
