#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/quote.h"
#include "gpt2/error.h"
#include "text/tokenizer_parts.h"
#include "text/vocabulary_reader.h"

namespace gpt2 {
namespace {

using nlohmann::json;
using IfKnown = AddedTokenList::IfKnown;

// In the order in which transformers gives ids to those that have none.
constexpr std::array<const char*, 7> kNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                                               "pad_token", "cls_token", "mask_token"};
// What GPT2Tokenizer takes for the first three of them where no file names one.
constexpr const char* kEndOfText = "<|endoftext|>";
constexpr std::size_t kDefaulted = 3;

// added_tokens_decoder: {"50256": {"content": "<|endoftext|>", ...}}
void declare_decoder(const json& decoder, const std::string& where, TokenizerParts& parts) {
  if (!decoder.is_object()) {
    throw Error(ErrorCode::invalid_file, where + " is " + show(decoder) + ", expected an object");
  }
  std::map<TokenId, const json*> by_id;
  for (const auto& [key, value] : decoder.items()) {
    TokenId id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 ||
        id >= Vocabulary::kMaxTokens || !by_id.emplace(id, &value).second) {
      throw Error(ErrorCode::invalid_file,
                  where + " has the key " + quote(key) + ", expected " + expected_id());
    }
  }
  for (const auto& [id, value] : by_id) {
    AddedToken token = read_added_token(JsonFields(*value, where));
    token.id = id;
    parts.added.declare(std::move(token), IfKnown::replace, parts.vocabulary, where);
  }
}

// added_tokens.json: {"<|pad|>": 50257}
void declare_map(const SideFiles::File& file, TokenizerParts& parts) {
  std::map<TokenId, std::string> by_id;
  for (const auto& [content, value] : file.root.items()) {
    const auto id = token_id_in(value);
    if (!id) {
      throw Error(ErrorCode::invalid_file, file.where + ": the id of " + quote(content) + " is " +
                                               show(value) + ", expected " + expected_id());
    }
    if (!by_id.emplace(*id, content).second) {
      throw Error(ErrorCode::invalid_file, file.where + ": " + quote(content) + " and " +
                                               quote(by_id[*id]) + " have the same id, " +
                                               std::to_string(*id));
    }
  }
  for (const auto& [id, content] : by_id) {
    parts.added.declare({.content = content, .id = id}, IfKnown::keep, parts.vocabulary,
                        file.where);
  }
}

// A special token is written as its content alone or as an AddedToken's members.
AddedToken special_token(const json& value, const std::string& where) {
  AddedToken token;
  if (value.is_string()) {
    token = {.content = value.get<std::string>(), .normalized = false};
  } else {
    token = read_added_token(JsonFields(value, where));
  }
  token.special = true;
  return token;
}

void declare_list(const SideFiles::File& file, const char* key, TokenizerParts& parts) {
  const JsonFields fields(file.root, file.where);
  const json* list = fields.find(key);
  if (!list) return;
  if (!list->is_array()) fields.refuse(key, "a list");
  for (const json& value : *list) {
    parts.added.declare(special_token(value, file.where + ": " + key), IfKnown::keep,
                        parts.vocabulary, file.where);
  }
}

// The id of what the files call by that name: tokenizer_config.json has the last word.
std::optional<TokenId> declare_named(const SideFiles& files, std::size_t name,
                                     TokenizerParts& parts) {
  AddedToken token;
  std::string where = files.config.where;
  for (const SideFiles::File* file : {&files.special_tokens_map, &files.config}) {
    const json* value = JsonFields(file->root, file->where).find(kNames[name]);
    if (!value) continue;
    where = file->where + ": " + kNames[name];
    token = special_token(*value, where);
  }
  if (token.content.empty() && name < kDefaulted && parts.vocabulary.find(kEndOfText)) {
    token = {.content = kEndOfText, .special = true};
  }
  if (token.content.empty()) return std::nullopt;
  parts.added.declare(token, IfKnown::keep, parts.vocabulary, where);
  return parts.added.find(token.content)->id;
}

void add_bos(std::optional<TokenId> bos, const JsonFields& config, TokenizerParts& parts) {
  if (!config.boolean("add_bos_token", false)) return;
  if (!bos) config.refuse("add_bos_token", "false, for no bos_token is named");
  const bool has_bos = !parts.before.empty() && parts.before.front() == *bos;
  if (!has_bos) parts.before.insert(parts.before.begin(), *bos);
}

}  // namespace

void read_vocabulary(const TextFile& vocab, const TextFile& merges, TokenizerParts& parts) {
  MergeList list(merges.where);
  VocabularyReader reader(VocabularyReader::File::vocab_json, vocab.where, parts.vocabulary, list);
  read_json(vocab.text, vocab.where, reader);
  if (!reader.has_vocabulary) {
    throw Error(ErrorCode::invalid_file,
                vocab.where + " is " + show(reader.tree.root) + ", expected an object");
  }
  list.add_lines(merges.text);
  parts.merges = list.resolve(parts.vocabulary);
}

std::optional<TokenId> read_side_files(const SideFiles& files, TokenizerParts& parts) {
  const JsonFields config(files.config.root, files.config.where);
  if (const json* decoder = config.find("added_tokens_decoder")) {
    declare_decoder(*decoder, config.where() + ": added_tokens_decoder", parts);
  } else {
    declare_map(files.added_tokens, parts);
  }
  std::array<std::optional<TokenId>, kNames.size()> named;
  for (std::size_t i = 0; i < kNames.size(); ++i) named[i] = declare_named(files, i, parts);
  declare_list(files.config, "additional_special_tokens", parts);
  declare_list(files.special_tokens_map, "additional_special_tokens", parts);
  add_bos(named[0], config, parts);
  return named[1];
}

}  // namespace gpt2
