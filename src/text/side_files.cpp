#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// The special tokens in the order in which HuggingFace's transformers assigns ids to those that
// have none, and what GPT2Tokenizer and BertTokenizer take for those that no file names.
struct SpecialName {
  const char* name;
  const char* gpt2;
  const char* bert;
  const char* t5;
};
constexpr const char* kEndOfText = "<|endoftext|>";
constexpr SpecialName kSpecialNames[] = {{"bos_token", kEndOfText, "", ""},
                                         {"eos_token", kEndOfText, "", "</s>"},
                                         {"unk_token", kEndOfText, "[UNK]", "<unk>"},
                                         {"sep_token", "", "[SEP]", ""},
                                         {"pad_token", "", "[PAD]", "<pad>"},
                                         {"cls_token", "", "[CLS]", ""},
                                         {"mask_token", "", "[MASK]", ""}};

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

struct SpecialToken {
  AddedToken token;
  std::string where;
};

// A special token is written as its content alone or as an AddedToken's members.
SpecialToken special_token(const json& value, const std::string& where) {
  AddedToken token = value.is_string()
                         ? AddedToken{.content = value.get<std::string>(), .normalized = false}
                         : read_added_token(JsonFields(value, where));
  token.special = true;
  return {std::move(token), where};
}

// Returns the special tokens that the files name: those of kSpecialNames, some of which may have no
// content, and then the additional ones. If two files name a token, the later one takes precedence.
std::vector<SpecialToken> special_tokens(const std::vector<const JsonFields*>& files) {
  std::vector<SpecialToken> tokens;
  for (const auto& [name, gpt2, bert, t5] : kSpecialNames) {
    SpecialToken& token = tokens.emplace_back(SpecialToken{{}, files.front()->where()});
    for (const JsonFields* fields : files) {
      const json* value = fields->find(name);
      if (value) token = special_token(*value, fields->where() + ": " + name);
    }
  }
  constexpr const char* kList = "additional_special_tokens";
  for (const JsonFields* fields : files) {
    if (!fields->find(kList)) continue;
    for (const json& value : fields->required_list(kList)) {
      tokens.push_back(special_token(value, fields->where() + ": " + kList));
    }
  }
  return tokens;
}

// Declares the tokens of added_tokens.json, {"<|pad|>": 50257}. The special ones are those that the
// other files name.
void declare_added(const JsonFields& file, const std::vector<SpecialToken>& specials,
                   Tokenizer::Impl& tokenizer) {
  std::set<std::string_view> names;
  for (const SpecialToken& special : specials) names.insert(special.token.content);
  for (const auto& [content, value] : file.object().items()) {
    const TokenId id = read_token_id(value, content, file.where());
    const bool is_special = names.contains(content);
    tokenizer.added.declare(
        {.content = content, .id = id, .normalized = !is_special, .special = is_special},
        file.where());
  }
}

}  // namespace

void declare_added_token(const JsonFields& fields, const json& id, Tokenizer::Impl& tokenizer) {
  AddedToken token = read_added_token(fields);
  token.id = read_token_id(id, token.content, fields.where());
  tokenizer.added.declare(token, fields.where(), AddedTokens::IfKnown::replace);
}

// As in HuggingFace's transformers, the other two files count only if tokenizer_config.json has no
// added_tokens_decoder.
SpecialIds read_side_files(const JsonFields& config, const JsonFields& special_tokens_map,
                           const JsonFields& added_tokens, TokenizerClass of_class,
                           Tokenizer::Impl& tokenizer) {
  std::vector<SpecialToken> specials;
  if (config.find("added_tokens_decoder")) {
    specials = special_tokens({&config});
    declare_decoder(config.required_object("added_tokens_decoder"), tokenizer);
  } else {
    specials = special_tokens({&config, &special_tokens_map});
    declare_added(added_tokens, specials, tokenizer);
  }
  SpecialIds ids;  // first those of kSpecialNames
  for (auto& [token, where] : specials) {
    if (token.content.empty() && ids.size() < std::size(kSpecialNames)) {
      const SpecialName& name = kSpecialNames[ids.size()];
      const char* const content = of_class == TokenizerClass::bert ? name.bert
                                  : of_class == TokenizerClass::t5 ? name.t5
                                                                   : name.gpt2;
      if (tokenizer.vocabulary.find(content)) token = {.content = content, .special = true};
    }
    ids.push_back(tokenizer.added.declare(token, where));
  }
  const auto [bos, eos] = std::pair(ids[0], ids[1]);
  if (eos >= 0) tokenizer.end_of_text = eos;

  bool add_bos = false;
  config.read("add_bos_token", add_bos);
  if (!add_bos) return ids;
  if (bos < 0) config.refuse("add_bos_token", "false, because no bos_token is given");
  for (auto* const start : {&tokenizer.before, &tokenizer.prompt_start}) {
    if (start->empty() || start->front() != bos) start->insert(start->begin(), bos);
  }
  return ids;
}

}  // namespace gpt2
