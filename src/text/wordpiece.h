#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpt2/config.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// BERT's WordPiece: divides a word into the longest tokens, from left to right. Immutable.
class WordPiece {
 public:
  struct Options {
    TokenId unknown = -1;              ///< takes the place of a word that is not made of tokens
    std::string prefix = "##";         ///< of a token that continues a word
    std::size_t max_characters = 100;  ///< a longer word is unknown
  };

  WordPiece(const Vocabulary& vocabulary, Options options);

  /// Appends the tokens of `word` to `ids` and, unless it is nullptr, where each of them ends in
  /// the word to `ends`. Returns the bytes of the word if it is unknown, and otherwise 0.
  std::size_t encode(std::string_view word, const Vocabulary& vocabulary, std::string& scratch,
                     std::vector<TokenId>& ids, std::vector<std::uint32_t>* ends) const;

 private:
  bool split(std::string_view word, const Vocabulary& vocabulary, std::string& scratch,
             std::vector<TokenId>& ids, std::vector<std::uint32_t>* ends) const;

  Options options_;
  std::size_t longest_ = 0;  // the bytes of the longest token
};

}  // namespace gpt2
