#include "base/fail.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxTemplate = 64;  // tokens put before or after every text

// Adds `step`, or, of a "Sequence", the members, under the key that this part has for them.
void add_steps(const JsonFields& step, const char* list_key, std::vector<JsonFields>& steps) {
  if (step.required_string("type") != "Sequence") return steps.push_back(step);
  for (const json& member : step.required_list(list_key)) {
    add_steps({member, step.where()}, list_key, steps);
  }
}

// The steps of a part (normalizer, pre_tokenizer ...): none where it is missing.
std::vector<JsonFields> steps_of(const JsonFields& root, const char* part, const char* list_key) {
  std::vector<JsonFields> steps;
  if (root.find(part)) add_steps(root.required_object(part), list_key, steps);
  return steps;
}

void check_byte_level(const JsonFields& step, std::string_view expected = "'ByteLevel'") {
  if (step.required_string("type") == "ByteLevel") return;
  step.refuse("type", expected, ErrorCode::unsupported);
}

Bpe::Options read_model(const JsonFields& model, const Vocabulary& vocabulary) {
  if (const auto type = model.string("type"); type && *type != "BPE") {
    model.refuse("type", "'BPE'", ErrorCode::unsupported);
  }
  for (const char* key :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"}) {
    const json* value = model.find(key);
    const bool is_empty = !value || *value == "" || *value == 0 || *value == false;
    if (!is_empty) model.refuse(key, "none, as in GPT-2", ErrorCode::unsupported);
  }
  Bpe::Options options;
  model.read("fuse_unk", options.fuse_unknown);
  model.read("ignore_merges", options.ignore_merges);
  if (const auto unknown = model.string("unk_token")) {
    options.unknown = vocabulary.find(*unknown);
    if (!options.unknown) model.refuse("unk_token", "a token of the vocabulary");
  }
  return options;
}

void read_pre_tokenizer(const JsonFields& root, Tokenizer::Impl& tokenizer) {
  const std::vector<JsonFields> steps = steps_of(root, "pre_tokenizer", "pretokenizers");
  for (const JsonFields& step : steps) check_byte_level(step);
  if (steps.size() != 1) {
    root.fail(ErrorCode::unsupported, "pre_tokenizer has ", steps.size(),
              " steps; expected one, 'ByteLevel'");
  }
  bool add_prefix_space = false;
  steps[0].read("use_regex", tokenizer.split_words);
  steps[0].read("add_prefix_space", add_prefix_space);
  if (add_prefix_space) tokenizer.prefix_space = PrefixSpace::before_pieces;
}

// {"single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
//  "special_tokens": {"<s>": {"ids": [1]}}}
void read_template(const JsonFields& processor, Tokenizer::Impl& tokenizer) {
  std::size_t texts = 0;
  for (const json& value : processor.required_list("single")) {
    const JsonFields piece(value, processor.where() + ": single");
    if (piece.find("SpecialToken")) {
      const JsonFields special = piece.required_object("SpecialToken");
      const std::string name = special.required_string("id");
      const JsonFields all = processor.required_object("special_tokens");
      const json* found = all.find(name);
      if (!found) special.refuse("id", "one of special_tokens");
      auto& ids = texts == 0 ? tokenizer.before : tokenizer.after;
      for (const json& id : JsonFields(*found, all.where()).required_list("ids")) {
        ids.push_back(read_token_id(id, name, all.where()));
        if (ids.size() > kMaxTemplate) processor.refuse("single", "no more than 64 special tokens");
      }
    } else if (piece.find("Sequence")) {
      ++texts;
    } else {
      processor.refuse("single", "an array of SpecialToken and Sequence");
    }
  }
  if (texts != 1) processor.refuse("single", "an array with one Sequence", ErrorCode::unsupported);
}

void read_added_tokens(const JsonFields& root, Tokenizer::Impl& tokenizer) {
  if (!root.find("added_tokens")) return;
  for (const json& value : root.required_list("added_tokens")) {
    const JsonFields fields(value, root.where() + ": added_tokens");
    const json* id = fields.find("id");
    declare_added_token(fields, id ? *id : json(), tokenizer);
  }
}

}  // namespace

void read_tokenizer_json(const TextFile& file, Tokenizer::Impl& tokenizer) {
  VocabularyReader reader(file.where, tokenizer.vocabulary);
  reader.read(file.text);
  const JsonFields root(reader.root, file.where);
  if (const auto version = root.string("version"); version && *version != "1.0") {
    root.refuse("version", "'1.0'", ErrorCode::unsupported);
  }
  const JsonFields model = root.required_object("model");
  const Bpe::Options options = read_model(model, tokenizer.vocabulary);
  if (tokenizer.vocabulary.count() == 0) {
    model.refuse("vocab", "an object of tokens and their ids");
  }
  if (!reader.has_merges) model.refuse("merges", "an array");

  for (const JsonFields& step : steps_of(root, "normalizer", "normalizers")) {
    step.refuse("type", "none", ErrorCode::unsupported);
  }
  read_pre_tokenizer(root, tokenizer);
  for (const JsonFields& step : steps_of(root, "decoder", "decoders")) check_byte_level(step);
  for (const JsonFields& step : steps_of(root, "post_processor", "processors")) {
    const bool is_first = tokenizer.before.empty() && tokenizer.after.empty();
    if (step.required_string("type") == "TemplateProcessing" && is_first) {
      read_template(step, tokenizer);
    } else {  // which only changes offsets
      check_byte_level(step, "'ByteLevel', or 'TemplateProcessing' once");
    }
  }
  tokenizer.bpe = Bpe(tokenizer.vocabulary, reader.merges.resolve(tokenizer.vocabulary), options);
  read_added_tokens(root, tokenizer);
}

void read_vocabulary(const TextFile& vocab, const TextFile& merges, Tokenizer::Impl& tokenizer) {
  VocabularyReader reader(vocab.where, tokenizer.vocabulary, {"model", "vocab"});
  reader.read(vocab.text);
  if (tokenizer.vocabulary.count() == 0) JsonFields(reader.root, vocab.where);
  MergeList list(merges.where);
  list.add_lines(merges.text);
  tokenizer.bpe = Bpe(tokenizer.vocabulary, list.resolve(tokenizer.vocabulary), {});
}

}  // namespace gpt2
