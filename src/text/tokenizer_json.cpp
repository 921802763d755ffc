#include <algorithm>
#include <utility>

#include "gpt2/error.h"
#include "text/tokenizer_parts.h"
#include "text/vocabulary_reader.h"

namespace gpt2 {
namespace {

using nlohmann::json;

/// One step of a part (normalizer, pre_tokenizer, ...) that may be a "Sequence" of several.
struct Step {
  std::string type;
  JsonFields fields;
};

// `list_key` is what a Sequence of this part calls its members.
std::vector<Step> steps_of(const JsonFields& root, const char* part, const char* list_key) {
  std::vector<Step> steps;
  std::vector<const json*> pending = {root.find(part)};
  while (!pending.empty()) {
    const json* next = pending.back();
    pending.pop_back();
    if (!next) continue;
    const JsonFields fields(*next, root.where() + ": " + part);
    const auto type = fields.string("type");
    if (!type) fields.refuse("type", "a string");
    if (*type != "Sequence") {
      steps.push_back({*type, fields});
      continue;
    }
    const json* list = fields.find(list_key);
    if (!list || !list->is_array()) fields.refuse(list_key, "a list");
    for (auto member = list->rbegin(); member != list->rend(); ++member)
      pending.push_back(&*member);
  }
  return steps;
}

[[noreturn]] void refuse(const Step& step, const char* expected) {
  step.fields.refuse("type", expected, ErrorCode::unsupported);
}

void require_empty(const JsonFields& model, const char* key) {
  const json* value = model.find(key);
  const bool is_empty = !value || *value == "" || *value == 0 || *value == false;
  if (!is_empty) model.refuse(key, "none, as in GPT-2", ErrorCode::unsupported);
}

Bpe::Options read_model(const JsonFields& model, const Vocabulary& vocabulary) {
  if (const auto type = model.string("type"); type && *type != "BPE") {
    model.refuse("type", "'BPE'", ErrorCode::unsupported);
  }
  require_empty(model, "dropout");
  require_empty(model, "continuing_subword_prefix");
  require_empty(model, "end_of_word_suffix");
  require_empty(model, "byte_fallback");
  Bpe::Options options;
  options.fuse_unknown = model.boolean("fuse_unk", false);
  options.ignore_merges = model.boolean("ignore_merges", false);
  if (const auto unknown = model.string("unk_token")) {
    options.unknown = vocabulary.find(*unknown);
    if (!options.unknown) model.refuse("unk_token", "a token of the vocabulary");
  }
  return options;
}

void read_pre_tokenizer(const JsonFields& root, TokenizerParts& parts) {
  const std::vector<Step> steps = steps_of(root, "pre_tokenizer", "pretokenizers");
  for (const Step& step : steps) {
    if (step.type != "ByteLevel") refuse(step, "'ByteLevel'");
  }
  if (steps.size() != 1) {
    throw Error(ErrorCode::unsupported, root.where() + ": pre_tokenizer has " +
                                            std::to_string(steps.size()) +
                                            " steps, expected one, 'ByteLevel'");
  }
  const JsonFields& fields = steps[0].fields;
  parts.split_words = fields.boolean("use_regex", true);
  if (fields.boolean("add_prefix_space", false)) parts.prefix_space = PrefixSpace::before_pieces;
}

// The ids that a template puts where `piece` is. `special_tokens` tells: {name: {"ids": [...]}}.
std::vector<TokenId> special_ids(const JsonFields& processor, const json& piece) {
  const std::string where = processor.where() + ".single";
  const JsonFields token(piece, where);
  const auto name = token.string("id");
  if (!name) token.refuse("id", "a string");
  const json* all = processor.find("special_tokens");
  if (!all) processor.refuse("special_tokens", "an object");
  const json* one = JsonFields(*all, processor.where() + ".special_tokens").find(*name);
  if (!one) token.refuse("id", "one of special_tokens");
  const JsonFields entry(*one, processor.where() + ".special_tokens");
  const json* ids = entry.find("ids");
  if (!ids || !ids->is_array()) entry.refuse("ids", "a list");
  std::vector<TokenId> out;
  for (const json& value : *ids) {
    const auto id = token_id_in(value);
    if (!id) entry.refuse("ids", "a list of ids, each " + expected_id());
    out.push_back(*id);
  }
  return out;
}

// {"single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]}
void read_template(const JsonFields& processor, TokenizerParts& parts) {
  const json* single = processor.find("single");
  if (!single || !single->is_array()) processor.refuse("single", "a list");
  std::size_t texts = 0;
  for (const json& value : *single) {
    const JsonFields piece(value, processor.where() + ".single");
    if (const json* token = piece.find("SpecialToken")) {
      auto& ids = texts == 0 ? parts.before : parts.after;
      const std::vector<TokenId> more = special_ids(processor, *token);
      ids.insert(ids.end(), more.begin(), more.end());
    } else if (piece.find("Sequence")) {
      ++texts;
    } else {
      processor.refuse("single", "a list of SpecialToken and Sequence");
    }
  }
  if (texts != 1) processor.refuse("single", "a list with one Sequence", ErrorCode::unsupported);
}

}  // namespace

void read_tokenizer_json(std::string_view text, const std::string& where, TokenizerParts& parts) {
  MergeList merges(where);
  VocabularyReader reader(VocabularyReader::File::tokenizer_json, where, parts.vocabulary, merges);
  read_json(text, where, reader);
  const JsonFields root(reader.tree.root, where);
  if (const auto version = root.string("version"); version && *version != "1.0") {
    root.refuse("version", "'1.0'", ErrorCode::unsupported);
  }
  const json* model_value = root.find("model");
  if (!model_value) root.refuse("model", "an object");
  const JsonFields model(*model_value, where + ": model");
  parts.bpe = read_model(model, parts.vocabulary);
  if (!reader.has_vocabulary) model.refuse("vocab", "an object of tokens and their ids");
  if (!reader.has_merges) model.refuse("merges", "a list");

  for (const Step& step : steps_of(root, "normalizer", "normalizers")) refuse(step, "none");
  read_pre_tokenizer(root, parts);
  for (const Step& step : steps_of(root, "decoder", "decoders")) {
    if (step.type != "ByteLevel") refuse(step, "'ByteLevel'");
  }
  for (const Step& step : steps_of(root, "post_processor", "processors")) {
    if (step.type == "TemplateProcessing" && parts.before.empty() && parts.after.empty()) {
      read_template(step.fields, parts);
    } else if (step.type != "ByteLevel") {  // which only changes offsets
      refuse(step, "'ByteLevel', or 'TemplateProcessing' once");
    }
  }
  parts.merges = merges.resolve(parts.vocabulary);

  const json* added = root.find("added_tokens");
  if (!added) return;
  if (!added->is_array()) root.refuse("added_tokens", "a list");
  for (const json& value : *added) {
    const JsonFields fields(value, where + ": added_tokens");
    AddedToken token = read_added_token(fields);
    const json* id = fields.find("id");
    if (!id || !token_id_in(*id)) fields.refuse("id", expected_id());
    token.id = *token_id_in(*id);
    parts.added.declare(std::move(token), AddedTokenList::IfKnown::replace, parts.vocabulary,
                        where);
  }
}

}  // namespace gpt2
