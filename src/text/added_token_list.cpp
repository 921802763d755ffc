#include <utility>

#include "base/quote.h"
#include "gpt2/error.h"
#include "text/tokenizer_parts.h"

namespace gpt2 {
namespace {

[[noreturn]] void fail(const std::string& where, const AddedToken& token,
                       const std::string& message) {
  throw Error(ErrorCode::invalid_file,
              where + ": the added token " + quote(token.content) + " " + message);
}

}  // namespace

AddedToken read_added_token(const JsonFields& fields) {
  const auto content = fields.string("content");
  if (!content) fields.refuse("content", "a string");
  AddedToken token{.content = *content};
  token.special = fields.boolean("special", false);
  token.normalized = fields.boolean("normalized", !token.special);
  token.single_word = fields.boolean("single_word", false);
  token.lstrip = fields.boolean("lstrip", false);
  token.rstrip = fields.boolean("rstrip", false);
  return token;
}

void AddedTokenList::declare(AddedToken token, IfKnown if_known, Vocabulary& vocabulary,
                             const std::string& where) {
  if (token.content.empty()) return;
  if (const auto known = index_.find(token.content); known != index_.end()) {
    AddedToken& earlier = tokens[known->second];
    if (token.id >= 0 && token.id != earlier.id) {
      fail(where, token,
           "has the id " + std::to_string(token.id) + ", expected " + std::to_string(earlier.id));
    }
    const bool special = token.special || earlier.special;
    token.id = earlier.id;
    if (if_known == IfKnown::replace) earlier = std::move(token);
    earlier.special = special;
    return;
  }
  bytes_ += token.content.size();
  if (bytes_ > kMaxBytes) {
    fail(where, token, "makes more than " + std::to_string(kMaxBytes) + " bytes of added tokens");
  }
  resolve_id(token, vocabulary, where);
  index_.emplace(token.content, tokens.size());
  tokens.push_back(std::move(token));
}

// tokenizers numbers new tokens by itself and only warns where the file says another number; here
// the file's number counts, for the model was trained with it.
void AddedTokenList::resolve_id(AddedToken& token, Vocabulary& vocabulary,
                                const std::string& where) const {
  if (const auto id = vocabulary.find(token.content)) {
    if (token.id >= 0 && token.id != *id) {
      fail(where, token,
           "has the id " + std::to_string(token.id) + ", expected that of the vocabulary, " +
               std::to_string(*id));
    }
    token.id = *id;
    return;
  }
  if (token.id < 0) token.id = static_cast<TokenId>(vocabulary.size());
  if (token.id >= Vocabulary::kMaxTokens) {
    fail(where, token, "is one more than " + std::to_string(Vocabulary::kMaxTokens));
  }
  if (vocabulary.insert_literal(token.content, token.id) != Vocabulary::Inserted::yes) {
    fail(where, token,
         "has the id of " + quote(vocabulary.bytes(token.id)) + ", " + std::to_string(token.id) +
             ", expected one of its own");
  }
}

const AddedToken* AddedTokenList::find(const std::string& content) const {
  const auto known = index_.find(content);
  return known == index_.end() ? nullptr : &tokens[known->second];
}

}  // namespace gpt2
