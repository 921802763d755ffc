#include "text/wordpiece.h"

#include <algorithm>

#include "base/utf8.h"

namespace gpt2 {

WordPiece::WordPiece(const Vocabulary& vocabulary, Options options) : options_(std::move(options)) {
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    longest_ = std::max(longest_, vocabulary.name(static_cast<TokenId>(id)).size());
  }
}

std::size_t WordPiece::encode(std::string_view word, const Vocabulary& vocabulary,
                              std::string& scratch, std::vector<TokenId>& ids,
                              std::vector<std::uint32_t>* ends) const {
  const std::size_t n_ids = ids.size();
  const std::size_t n_ends = ends != nullptr ? ends->size() : 0;
  const bool is_long =
      word.size() > options_.max_characters && count_characters(word) > options_.max_characters;
  if (!is_long && split(word, vocabulary, scratch, ids, ends)) return 0;
  ids.resize(n_ids);
  ids.push_back(options_.unknown);
  if (ends != nullptr) {
    ends->resize(n_ends);
    ends->push_back(static_cast<std::uint32_t>(word.size()));
  }
  return word.size();
}

// Returns false if the word is not made of tokens.
bool WordPiece::split(std::string_view word, const Vocabulary& vocabulary, std::string& scratch,
                      std::vector<TokenId>& ids, std::vector<std::uint32_t>* ends) const {
  // The prefix of a token that continues the word is written over the end of what precedes it.
  const std::size_t room = options_.prefix.size();
  scratch.assign(options_.prefix).append(word);
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t before = begin > 0 ? room : 0;
    if (before > 0) std::copy_n(options_.prefix.data(), room, scratch.data() + begin);
    const std::string_view rest = std::string_view(scratch).substr(begin + room - before);
    std::size_t length = std::min(word.size() - begin, longest_);
    std::optional<TokenId> id;
    for (; length > 0 && !id; --length) {
      const bool is_whole = place_to_cut(word, begin + length) == begin + length;
      if (is_whole) id = vocabulary.find(rest.substr(0, before + length));
    }
    if (!id) return false;
    begin += length + 1;
    ids.push_back(*id);
    if (ends != nullptr) ends->push_back(static_cast<std::uint32_t>(begin));
  }
  return true;
}

}  // namespace gpt2
