#include <array>

#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// The names of special tokens, in the order in which HuggingFace's transformers assigns ids to
// those that have none.
constexpr std::array<const char*, 7> kSpecialNames = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
// GPT2Tokenizer's default for the first three special tokens, if no file names one.
constexpr const char* kEndOfText = "<|endoftext|>";
constexpr std::size_t kDefaulted = 3;

// Reads an AddedToken from the members that it has in files.
AddedToken read_added_token(const JsonFields& fields) {
  AddedToken token{.content = fields.required_string("content")};
  fields.read("special", token.special);
  token.normalized = !token.special;
  fields.read("normalized", token.normalized);
  fields.read("single_word", token.single_word);
  fields.read("lstrip", token.lstrip);
  fields.read("rstrip", token.rstrip);
  return token;
}

// added_tokens_decoder: {"50256": {"content": "<|endoftext|>", ...}}
void declare_decoder(const JsonFields& decoder, Tokenizer::Impl& tokenizer) {
  for (const auto& [key, value] : decoder.object().items()) {
    std::uint32_t id = 0;
    const json given = read_number(key, id) ? json(id) : json(key);
    declare_added_token({value, decoder.where()}, given, tokenizer);
  }
}

// A special token is written as its content alone or as an AddedToken's members.
AddedToken special_token(const json& value, const std::string& where) {
  AddedToken token = value.is_string()
                         ? AddedToken{.content = value.get<std::string>(), .normalized = false}
                         : read_added_token(JsonFields(value, where));
  token.special = true;
  return token;
}

void declare_list(const JsonFields& fields, Tokenizer::Impl& tokenizer) {
  constexpr const char* kKey = "additional_special_tokens";
  if (!fields.find(kKey)) return;
  const std::string where = fields.where() + ": " + kKey;
  for (const json& value : fields.required_list(kKey)) {
    tokenizer.added.declare(special_token(value, where), where);
  }
}

// Declares the special token of kSpecialNames[name] and returns its id, if it has one. If both files
// name the token, tokenizer_config.json takes precedence.
std::optional<TokenId> declare_named(const JsonFields& config, const JsonFields& map,
                                     std::size_t name, Tokenizer::Impl& tokenizer) {
  AddedToken token;
  std::string where = config.where();
  for (const JsonFields* fields : {&map, &config}) {
    const json* value = fields->find(kSpecialNames[name]);
    if (!value) continue;
    where = fields->where() + ": " + kSpecialNames[name];
    token = special_token(*value, where);
  }
  if (token.content.empty() && name < kDefaulted && tokenizer.vocabulary.find(kEndOfText)) {
    token = {.content = kEndOfText, .special = true};
  }
  if (token.content.empty()) return std::nullopt;
  return tokenizer.added.declare(token, where);
}

}  // namespace

void declare_added_token(const JsonFields& fields, const json& id, Tokenizer::Impl& tokenizer) {
  AddedToken token = read_added_token(fields);
  token.id = read_token_id(id, token.content, fields.where());
  tokenizer.added.declare(token, fields.where(), AddedTokens::IfKnown::replace);
}

void read_side_files(const JsonFields& config, const JsonFields& special_tokens_map,
                     const JsonFields& added_tokens, Tokenizer::Impl& tokenizer) {
  if (config.find("added_tokens_decoder")) {
    declare_decoder(config.required_object("added_tokens_decoder"), tokenizer);
  } else {  // added_tokens.json: {"<|pad|>": 50257}
    const std::string& where = added_tokens.where();
    for (const auto& [content, value] : added_tokens.object().items()) {
      const TokenId id = read_token_id(value, content, where);
      tokenizer.added.declare({.content = content, .id = id}, where);
    }
  }
  std::array<std::optional<TokenId>, kSpecialNames.size()> named;
  for (std::size_t i = 0; i < kSpecialNames.size(); ++i) {
    named[i] = declare_named(config, special_tokens_map, i, tokenizer);
  }
  declare_list(config, tokenizer);
  declare_list(special_tokens_map, tokenizer);
  tokenizer.end_of_text = named[1];

  bool add_bos = false;
  config.read("add_bos_token", add_bos);
  if (!add_bos) return;
  auto& before = tokenizer.before;
  if (!named[0]) config.refuse("add_bos_token", "false, because no bos_token is given");
  if (before.empty() || before.front() != *named[0]) before.insert(before.begin(), *named[0]);
}

}  // namespace gpt2
