#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace gpt2 {

struct Tokenizer::Impl {
  Impl(TokenizerParts parts, std::optional<TokenId> end_of_text_id, std::string words)
      : vocabulary(std::move(parts.vocabulary)),
        bpe(vocabulary, std::move(parts.merges), parts.bpe),
        added(std::move(parts.added.tokens)),
        prefix_space(parts.prefix_space),
        split_words(parts.split_words),
        before(std::move(parts.before)),
        after(std::move(parts.after)),
        end_of_text(end_of_text_id),
        description(std::move(words)) {}

  Vocabulary vocabulary;
  Bpe bpe;
  AddedTokens added;
  PrefixSpace prefix_space;
  bool split_words;
  std::vector<TokenId> before;
  std::vector<TokenId> after;
  std::optional<TokenId> end_of_text;
  std::string description;
};

}  // namespace gpt2
