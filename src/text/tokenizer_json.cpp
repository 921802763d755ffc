#include <charconv>
#include <cmath>
#include <limits>

#include "base/fail.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// Reads a tokenizer.json. Stores model.vocab and model.merges, which are nearly the whole file,
// directly in their tables, which are empty in the tree. Building a tree of the whole file would
// take most of a program's startup time.
class VocabularyReader final : public JsonTree {
 public:
  // REQUIRES: `vocabulary` is empty. `path` has the keys under which the text would be found in a
  // tokenizer.json. For a vocab.json these are "model" and "vocab".
  VocabularyReader(const std::string& where, Vocabulary& vocabulary,
                   std::vector<std::string> path = {})
      : JsonTree(where), merges{where}, vocabulary_(vocabulary), path_(std::move(path)) {}

  void begin(json::value_t kind) override {
    if (table_ == Table::none) {
      JsonTree::begin(kind);
      const bool is_object = kind == json::value_t::object;
      const bool is_of_model = path_.size() == 2 && path_[0] == "model";
      if (is_of_model && path_[1] == "vocab" && is_object) table_ = Table::vocabulary;
      if (is_of_model && path_[1] == "merges" && !is_object) table_ = Table::merges;
    } else if (table_ == Table::vocabulary) {
      add_token(json(kind));  // which throws
    } else if (kind == json::value_t::object || path_.size() > kInTable) {
      refuse_merge(json(kind));
    }
    pair_.clear();
    path_.emplace_back();
  }

  bool key(std::string& name) override {
    path_.back() = name;
    return table_ != Table::none || JsonTree::key(name);
  }

  void scalar(json&& value) override {
    if (table_ == Table::none) return JsonTree::scalar(std::move(value));
    if (table_ == Table::vocabulary) return add_token(value);
    auto* const text = value.get_ptr<std::string*>();
    if (text && path_.size() > kInTable) {
      pair_.push_back(std::move(*text));
    } else if (!text || !merges.add(*text)) {
      refuse_merge(value);
    }
  }

  void end() override {
    path_.pop_back();
    if (table_ == Table::merges && path_.size() == kInTable) {
      if (pair_.size() != 2 || !merges.add(pair_[0], pair_[1])) refuse_merge(json::value_t::array);
      return;
    }
    table_ = Table::none;
    JsonTree::end();
  }

  MergeList merges;

 private:
  enum class Table : std::uint8_t { none, vocabulary, merges };
  static constexpr std::size_t kInTable = 3;  // the keys of the path within a table

  void add_token(const json& value) {
    const std::string& token = path_.back();
    const TokenId id = read_token_id(value, token, where_);
    if (vocabulary_.insert(token, id)) return;
    if (vocabulary_.find(token)) {
      fail(where_, "the token ", quote(token), " appears twice in the vocabulary");
    }
    fail(where_, "the tokens ", quote(vocabulary_.bytes(id)), " and ", quote(token),
         " have the same id, ", id);
  }

  [[noreturn]] void refuse_merge(const json& found) const {
    fail(where_, "model.merges[", merges.pairs.size(),
         R"(]: expected "left right" or ["left", "right"], found )", shown(found));
  }

  Vocabulary& vocabulary_;
  Table table_ = Table::none;      // where the parser is
  std::vector<std::string> path_;  // the last key of every open object, "" for an array
  std::vector<std::string> pair_;  // the parts, read so far, of a merge written as an array
};

// Of a part. Real tokenizers have up to 6. Each step may make a text longer, and splits recurse.
constexpr std::size_t kMaxSteps = 16;

// Adds what `step`, or a "Sequence" whose members are under the key `list_key`, says to `result`.
template <class Result>
void add_steps(const JsonFields& step, const char* list_key,
               std::span<const StepKind<Result>> kinds, std::size_t& count, Result& result) {
  const std::string type = step.required_string("type");
  if (type == "Sequence") {
    for (const json& member : step.required_list(list_key)) {
      add_steps({member, step.where()}, list_key, kinds, count, result);
    }
    return;
  }
  if (++count > kMaxSteps) {
    fail(ErrorCode::unsupported, step.where(), "expected at most ", kMaxSteps, " steps");
  }
  const auto kind = std::ranges::find(kinds, type, &StepKind<Result>::type);
  if (kind == kinds.end()) {
    std::string expected = "one of Sequence";
    for (const auto& known : kinds) expected.append(", ").append(known.type);
    step.refuse("type", expected, ErrorCode::unsupported);
  }
  kind->add(step, result);
}

// Reads a part (normalizer, pre_tokenizer ...), which may be missing.
template <class Result>
void read_part(const JsonFields& root, const char* part, const char* list_key,
               std::type_identity_t<std::span<const StepKind<Result>>> kinds, Result& result) {
  std::size_t count = 0;
  if (root.find(part)) add_steps(root.required_object(part), list_key, kinds, count, result);
}

// Refuses a model with these members, unless they are empty or false.
void refuse_members(const JsonFields& model, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const json* value = model.find(key);
    const bool is_empty = !value || is_text(*value, "") || *value == 0 || *value == false;
    model.expect(is_empty, key, "none");
  }
}

std::optional<TokenId> read_unknown(const JsonFields& model, const Vocabulary& vocabulary) {
  const auto name = model.string("unk_token");
  if (!name) return std::nullopt;
  const auto id = vocabulary.find(*name);
  if (!id) model.refuse("unk_token", "a token of the vocabulary");
  return id;
}

TokenModel read_bpe(const JsonFields& model, const MergeList& merges,
                    const Tokenizer::Impl& tokenizer) {
  const WordSplits& splits = tokenizer.pre_tokenizer;
  const BpeOptions options = {.unknown = read_unknown(model, tokenizer.vocabulary),
                              .fuse_unknown = model.flag("fuse_unk", false),
                              .ignore_merges = model.flag("ignore_merges", false),
                              .of_characters = splits.empty() || !splits.back().is_byte_level,
                              .byte_fallback = model.flag("byte_fallback", false),
                              .prefix = model.string("continuing_subword_prefix").value_or(""),
                              .suffix = model.string("end_of_word_suffix").value_or("")};
  refuse_members(model, {"dropout"});
  if (tokenizer.is_byte_level) refuse_members(model, {"byte_fallback"});
  if (tokenizer.is_byte_level || options.byte_fallback) {
    refuse_members(model, {"continuing_subword_prefix", "end_of_word_suffix"});
  }
  static_cast<void>(model.required_list("merges"));
  return bpe_model(tokenizer.vocabulary, merges, options);
}

TokenModel read_wordpiece(const JsonFields& model, const Vocabulary& vocabulary, bool whole_words) {
  const auto unknown = read_unknown(model, vocabulary);
  if (!unknown) model.refuse("unk_token", "a token of the vocabulary");
  WordPieceOptions options = {.unknown = *unknown, .whole_words = whole_words};
  options.prefix = model.string("continuing_subword_prefix").value_or(options.prefix);
  model.read("max_input_chars_per_word", options.max_characters);
  return wordpiece_model(vocabulary, options);
}

// Returns a score as HuggingFace's tokenizers read it: a whole number times or divided by a power
// of ten. So many numbers of 16 and more digits are off by their last bit, which decides between
// two paths with the same pieces in another order.
double read_score(const json& number) {
  const auto value = number.get<double>();
  if (std::abs(value) >= 1e15) return value;  // has no digits behind the point
  std::array<char, 64> text = {};
  std::to_chars(text.data(), text.data() + text.size(), std::abs(value));
  std::uint64_t digits = 0;
  int exponent = 0;
  bool is_behind_point = false;
  const char* at = text.data();
  for (; *at != '\0' && *at != 'e'; ++at) {
    if (*at == '.') {
      is_behind_point = true;
    } else {
      digits = 10 * digits + static_cast<std::uint64_t>(*at - '0');
      exponent -= is_behind_point;
    }
  }
  if (*at == 'e') exponent += std::atoi(at + 1);
  double power = std::numeric_limits<double>::infinity();
  static_cast<void>(read_number(concat("1e", std::abs(exponent)), power));
  const auto whole = static_cast<double>(digits);
  return std::copysign(exponent < 0 ? whole / power : whole * power, value);
}

// Reads the vocabulary, too: [["<unk>", 0], ["a", -2.5]].
TokenModel read_unigram(const JsonFields& model, Vocabulary& vocabulary) {
  UnigramOptions options = {.byte_fallback = model.flag("byte_fallback", false)};
  std::vector<Piece> pieces;
  for (const json& pair : model.required_list("vocab")) {
    const bool is_pair = pair.is_array() && pair.size() == 2 && pair[1].is_number();
    const auto* const text = is_pair ? pair[0].get_ptr<const std::string*>() : nullptr;
    if (!text || text->empty() || text->size() > PieceTrie::kMaxPieceBytes ||
        pieces.size() == static_cast<std::size_t>(Vocabulary::kMaxTokens)) {
      model.refuse("vocab", concat("a list of [piece, score], with pieces of 1 to ",
                                   PieceTrie::kMaxPieceBytes, " bytes"));
    }
    static_cast<void>(vocabulary.insert(*text, static_cast<TokenId>(pieces.size())));
    pieces.push_back({*text, read_score(pair[1])});
  }
  if (const json* const id = model.find("unk_id")) {
    options.unknown = read_token_id(*id, "unk_id", model.where());
    if (std::cmp_greater_equal(options.unknown, pieces.size())) {
      model.refuse("unk_id", concat("a place in the list of ", pieces.size(), " pieces"));
    }
  }
  return unigram_model(pieces, options);
}

void expect_first(const JsonFields& processor, const Tokenizer::Impl& tokenizer) {
  const bool is_first = tokenizer.before.empty() && tokenizer.after.empty();
  processor.expect(is_first, "type", "one step that adds tokens");
}

// {"single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]}
void read_template(const JsonFields& processor, Tokenizer::Impl& tokenizer) {
  expect_first(processor, tokenizer);
  std::size_t texts = 0;
  for (const json& value : processor.required_list("single")) {
    const JsonFields piece(value, processor.where() + ": single");
    if (piece.find("SpecialToken")) {
      const JsonFields special = piece.required_object("SpecialToken");
      const auto id = tokenizer.vocabulary.find(special.required_string("id"));
      if (!id) special.refuse("id", "a token of the vocabulary");
      (texts == 0 ? tokenizer.before : tokenizer.after).push_back(*id);
    } else if (piece.find("Sequence")) {
      ++texts;
    } else {
      processor.refuse("single", "an array of SpecialToken and Sequence");
    }
  }
  processor.expect(texts == 1, "single", "an array with one Sequence");
  if (tokenizer.is_byte_level) tokenizer.prompt_start = tokenizer.before;
}

// {"sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
void read_cls_and_sep(const JsonFields& processor, Tokenizer::Impl& tokenizer) {
  const auto id_of = [&](const char* key) {
    const json& pair = processor.required_list(key);
    if (pair.size() != 2) processor.refuse(key, "a token and its id");
    return read_token_id(pair[1], key, processor.where());
  };
  expect_first(processor, tokenizer);
  tokenizer.before = {id_of("cls")};
  tokenizer.after = {id_of("sep")};
}

constexpr StepKind<Tokenizer::Impl> kPostProcessors[] = {
    {"ByteLevel", [](const auto&, Tokenizer::Impl&) {}},  // changes only offsets
    {"TemplateProcessing", read_template},
    {"BertProcessing", read_cls_and_sep},
    {"RobertaProcessing", read_cls_and_sep}};

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Reads all parts but the model and the post-processor.
void read_parts(const JsonFields& root, Tokenizer::Impl& tokenizer) {
  read_part(root, "normalizer", "normalizers", normalizer_kinds(), tokenizer.normalizer);
  WordSplits& splits = tokenizer.pre_tokenizer;
  read_part(root, "pre_tokenizer", "pretokenizers", pre_tokenizer_kinds(), splits);
  const auto level = std::ranges::find(splits, true, &WordSplit::is_byte_level);
  const auto refuse = [&](const char* part, const char* expected) {
    root.required_object(part).refuse("type", expected, ErrorCode::unsupported);
  };
  if (splits.end() - level > 1) refuse("pre_tokenizer", "no step behind ByteLevel");
  TokenDecoder& decoder = tokenizer.decoder;
  read_part(root, "decoder", "decoders", decoder_kinds(), decoder);
  tokenizer.is_byte_level = level != splits.end() || decoder.is_byte_level;
  const bool has_steps = !decoder.steps.empty() || decoder.byte_fallback;
  if (tokenizer.is_byte_level + has_steps + !decoder.end_of_word.empty() > 1) {
    refuse("decoder",
           "ByteLevel if the pre_tokenizer has it, and no other step beside it or BPEDecoder");
  }
  if (!tokenizer.is_byte_level) tokenizer.vocabulary.use_names();
  if (root.find("decoder")) return;
  decoder.steps.push_back([](std::string& token, bool is_first) {
    if (!is_first) token.insert(0, " ");
  });
}

// The same for a file that is no tokenizer.json: `parts` is what one would say.
void read_parts(const char* parts, const std::string& where, const JsonPatch& patch,
                Tokenizer::Impl& tokenizer) {
  auto document = parse_json(parts, where);
  patch(document.root);
  read_parts(JsonFields(document.root, where), tokenizer);
}

// Returns the lines without their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view& line = lines.emplace_back(text.substr(0, length));
    if (line.ends_with('\r')) line.remove_suffix(1);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

}  // namespace

TokenId read_token_id(const json& value, std::string_view token, std::string_view where) {
  if (const auto id = whole_number(value, 0, Vocabulary::kMaxTokens - 1)) return *id;
  fail(where, "the id of ", quote(token), " is ", shown(value), "; expected a number from 0 to ",
       Vocabulary::kMaxTokens - 1);
}

void read_tokenizer_json(std::span<const TextFile> files, const JsonPatch& patch,
                         Tokenizer::Impl& tokenizer) {
  const auto& [text, where] = files[0];
  VocabularyReader reader(where, tokenizer.vocabulary);
  reader.read(text);
  patch(reader.root);
  const JsonFields root(reader.root, where);
  const auto version = root.string("version");
  root.expect(!version || *version == "1.0", "version", "'1.0'");
  const JsonFields model = root.required_object("model");
  const std::string type = model.string("type").value_or("BPE");
  if (type == "Unigram") tokenizer.model = read_unigram(model, tokenizer.vocabulary);
  if (tokenizer.vocabulary.count() == 0) model.refuse("vocab", "tokens and their ids");

  read_parts(root, tokenizer);
  tokenizer.description = type == "Unigram" ? "SentencePiece" : type;
  if (type == "BPE") {
    tokenizer.description = tokenizer.is_byte_level ? "byte-level BPE" : "BPE of characters";
    tokenizer.model = read_bpe(model, reader.merges, tokenizer);
  } else if ((type == "WordPiece" || type == "WordLevel") && !tokenizer.is_byte_level) {
    tokenizer.model = read_wordpiece(model, tokenizer.vocabulary, type == "WordLevel");
  } else {
    model.expect(type == "Unigram" && !tokenizer.is_byte_level, "type",
                 "'BPE', or 'WordPiece', 'WordLevel' or 'Unigram' without ByteLevel");
  }
  const json none;  // has no elements
  for (const json& value : root.find("added_tokens") ? root.required_list("added_tokens") : none) {
    AddedToken token = read_added_token({value, concat(where, ": added_tokens")});
    const auto id = value.find("id");
    token.id = read_token_id(id == value.end() ? none : *id, token.content, token.where);
    tokenizer.added.declare(token, /*replaces=*/true);
  }
  read_part(root, "post_processor", "processors", kPostProcessors, tokenizer);
}

void read_sentencepiece_model(std::span<const TextFile> files, const JsonPatch& patch,
                              Tokenizer::Impl& tokenizer) {
  SentencePieceFile read = read_sentencepiece_file(files[0].text, files[0].where);
  for (std::size_t id = 0; id < read.pieces.size(); ++id) {
    static_cast<void>(tokenizer.vocabulary.insert(read.pieces[id].text, static_cast<TokenId>(id)));
  }
  read_parts("{}", files[0].where, patch, tokenizer);
  tokenizer.description = "SentencePiece";
  tokenizer.model = unigram_model(read.pieces, read.options);
  tokenizer.decoder = sentencepiece_decoder(read);
  tokenizer.sentencepiece = std::move(read.normalizer);
}

void read_bert_vocabulary(std::span<const TextFile> files, const JsonPatch& patch,
                          Tokenizer::Impl& tokenizer) {
  const auto& [text, where] = files[0];
  const std::vector<std::string_view> lines = lines_of(text);
  if (lines.size() > static_cast<std::size_t>(Vocabulary::kMaxTokens)) {
    fail(where, "expected at most ", Vocabulary::kMaxTokens, " lines, found ", lines.size());
  }
  // If two lines have the same token, the token has the number of the last one.
  for (std::size_t id = lines.size(); id-- > 0;) {
    static_cast<void>(tokenizer.vocabulary.insert(lines[id], static_cast<TokenId>(id)));
  }
  read_parts(R"({"normalizer": {"type": "BertNormalizer"}, "decoder": {"type": "WordPiece"},
                 "pre_tokenizer": {"type": "BertPreTokenizer"}})",
             where, patch, tokenizer);
  tokenizer.description = "WordPiece";
}

void read_vocabulary(std::span<const TextFile> files, const JsonPatch& patch,
                     Tokenizer::Impl& tokenizer) {
  const auto& [text, where] = files[0];
  VocabularyReader reader(where, tokenizer.vocabulary, {"model", "vocab"});
  reader.read(text);
  static_cast<void>(JsonFields(reader.root, where));  // throws unless it is an object
  if (tokenizer.vocabulary.count() == 0) fail(where, "the vocabulary is empty");
  read_parts(R"({"pre_tokenizer": {"type": "ByteLevel"}})", where, patch, tokenizer);
  tokenizer.description = "byte-level BPE";
  std::string_view merges = files[1].text;
  if (merges.starts_with(kByteOrderMark)) merges.remove_prefix(kByteOrderMark.size());
  const auto lines = lines_of(merges);
  MergeList list = {files[1].where};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i].substr(0, lines[i].find_last_not_of(" \t") + 1);
    if (line.empty() || line.starts_with("#version") || list.add(line)) continue;
    fail(list.where, "line ", i + 1, ": expected two tokens and one space between them, found ",
         quote(line));
  }
  tokenizer.model = bpe_model(tokenizer.vocabulary, list);
}

}  // namespace gpt2
