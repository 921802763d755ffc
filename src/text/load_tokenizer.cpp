#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "base/fail.h"
#include "base/file_source.h"
#include "base/json.h"
#include "formats/model_files.h"
#include "gpt2/model_files.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

enum class MainFile : std::uint8_t { spiece_model, tokenizer_json, vocab_json, vocab_txt };

// HuggingFace's classes of tokenizers. A plain class changes nothing of a tokenizer.json. GPT-2's
// replace its add_prefix_space, and BERT's the settings of its BertNormalizer.
enum class Family : std::uint8_t { other, plain, gpt2, bert, t5 };
constexpr std::pair<std::string_view, Family> kClasses[] = {
    {"PreTrainedTokenizerFast", Family::plain},
    {"TokenizersBackend", Family::plain},
    {"GPT2Tokenizer", Family::gpt2},
    {"GPT2TokenizerFast", Family::gpt2},
    {"CodeGenTokenizer", Family::gpt2},
    {"CodeGenTokenizerFast", Family::gpt2},
    {"BertTokenizer", Family::bert},
    {"BertTokenizerFast", Family::bert},
    {"T5Tokenizer", Family::t5},
    {"T5TokenizerFast", Family::t5},
    {"GPTSw3Tokenizer", Family::t5}};

/// The files of one folder, or a list of files in memory. Records the names of those that were
/// read.
class Folder {
 public:
  explicit Folder(fs::path path) : path_(std::move(path)) {}
  explicit Folder(const FileSource& memory) : source_(memory) {}

  [[nodiscard]] bool has(const char* name) const { return source_.has(path_ / name); }

  TextFile read(const char* name) {
    const fs::path& file = files.emplace_back(path_ / name);
    return {read_file(file, kMaxFileBytes, source_), file.string()};
  }

  // Returns the object in a side file, or an empty one if there is no such file. This Folder owns
  // the object.
  JsonFields read_object(const char* name) {
    const TextFile file = has(name) ? read(name) : TextFile{"{}", (path_ / name).string()};
    return {objects_.emplace_back(parse_json(file.text, file.where)).root, file.where};
  }

  [[noreturn]] void nothing_found() const {
    constexpr const char* kExpected =
        "expected tokenizer.json, vocab.json and merges.txt, vocab.txt or spiece.model";
    const std::string where = source_.is_memory() ? "memory" : path_.string();
    for (const char* file : {"tokenizer.model", "sentencepiece.bpe.model"}) {
      if (has(file)) fail(ErrorCode::unsupported, where, "SentencePiece (", file, "); ", kExpected);
    }
    fail(ErrorCode::not_found, where, "no tokenizer; ", kExpected);
  }

  std::vector<fs::path> files;  // the files that were read

 private:
  fs::path path_;  // empty for files in memory, whose paths are their names
  FileSource source_;
  std::deque<JsonDocument<nlohmann::json>> objects_;
};

// The ids of kSpecialNames and then of other tokens. An id is -1 if there is no such token.
using SpecialIds = std::vector<TokenId>;

// Reads the files that define the tokenizer. Returns the kind of the first one. A spiece.model says
// how the texts for training were encoded, unlike a tokenizer.json that was made from it.
MainFile read_main_files(Folder& folder, Tokenizer::Impl& tokenizer) {
  if (folder.has(kSentencePieceModel)) {
    read_sentencepiece_model(folder.read(kSentencePieceModel), tokenizer);
    return MainFile::spiece_model;
  }
  for (const char* name : kTokenizerJson) {
    if (!folder.has(name)) continue;
    read_tokenizer_json(folder.read(name), tokenizer);
    return MainFile::tokenizer_json;
  }
  for (const auto& [vocab, merges] : kVocabularyFiles) {
    if (!folder.has(vocab)) continue;
    const TextFile first = folder.read(vocab);
    read_vocabulary(first, folder.read(merges), tokenizer);
    return MainFile::vocab_json;
  }
  if (!folder.has(kBertVocabulary)) folder.nothing_found();
  read_bert_vocabulary(folder.read(kBertVocabulary), tokenizer);
  return MainFile::vocab_txt;
}

// Applies BERT's settings in tokenizer_config.json, and decides on the normalizer.
void apply_bert_config(const JsonFields& config, bool is_bert, Tokenizer::Impl& tokenizer) {
  if (!tokenizer.bert_normalizer) return;
  BertNormalizer& bert = *tokenizer.bert_normalizer;
  if (is_bert) {
    bert = {.clean_text = bert.clean_text,
            .handle_chinese_chars = config.flag("tokenize_chinese_chars", true),
            .strip_accents = std::nullopt,
            .lowercase = config.flag("do_lower_case", true)};
    if (config.find("strip_accents")) bert.strip_accents = config.flag("strip_accents", true);
  }
  bert.append_to(tokenizer.normalizer);
}

// Applies the settings in tokenizer_config.json that concern the tokenizer as a whole.
// Returns the family whose defaults count: gpt2, bert or t5.
Family apply_config(const JsonFields& config, MainFile main, Tokenizer::Impl& tokenizer) {
  const auto name = config.string("tokenizer_class");
  const auto* const known =
      std::ranges::find(kClasses, name.value_or(""), &std::pair<std::string_view, Family>::first);
  const Family family = known != std::end(kClasses) ? known->second : Family::other;
  const auto expect = [&](MainFile file, bool is_right, const char* expected) {
    if (main != file || !name || is_right) return;
    config.refuse("tokenizer_class", expected, ErrorCode::unsupported);
  };
  const bool is_plain = family == Family::plain;
  expect(MainFile::vocab_txt, family == Family::bert, "'BertTokenizer'");
  expect(MainFile::vocab_json, is_plain || family == Family::gpt2, "'GPT2Tokenizer'");
  expect(MainFile::spiece_model, family == Family::t5, "'T5Tokenizer'");
  const bool is_bert = family == Family::bert || main == MainFile::vocab_txt;
  apply_bert_config(config, is_bert, tokenizer);
  if (main == MainFile::spiece_model) return Family::t5;
  if (is_bert) return Family::bert;
  if (tokenizer.has_own_prefix_space) return Family::gpt2;
  std::string& prefix = tokenizer.pre_tokenizer.front().prefix;
  const bool is_wanted = config.flag("add_prefix_space", is_plain && !prefix.empty());
  prefix = is_wanted && main == MainFile::tokenizer_json ? " " : "";
  tokenizer.has_space_before = is_wanted && main == MainFile::vocab_json;
  return Family::gpt2;
}

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
  const bool special = fields.flag("special", false);
  return {.content = fields.required_string("content"),
          .single_word = fields.flag("single_word", false),
          .lstrip = fields.flag("lstrip", false),
          .rstrip = fields.flag("rstrip", false),
          .normalized = fields.flag("normalized", !special),
          .special = special};
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

// As in HuggingFace's transformers, the other two files count only if tokenizer_config.json has no
// added_tokens_decoder.
SpecialIds read_side_files(const JsonFields& config, const JsonFields& special_tokens_map,
                           const JsonFields& added_tokens, Family family,
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
      const char* const content = family == Family::bert ? name.bert
                                  : family == Family::t5 ? name.t5
                                                         : name.gpt2;
      if (tokenizer.vocabulary.find(content)) token = {.content = content, .special = true};
    }
    ids.push_back(tokenizer.added.declare(token, where));
  }
  const auto [bos, eos] = std::pair(ids[0], ids[1]);
  if (eos >= 0) tokenizer.end_of_text = eos;

  if (!config.flag("add_bos_token", false)) return ids;
  if (bos < 0) config.refuse("add_bos_token", "false, because no bos_token is given");
  for (auto* const start : {&tokenizer.before, &tokenizer.prompt_start}) {
    if (start->empty() || start->front() != bos) start->insert(start->begin(), bos);
  }
  return ids;
}

// Adds what T5Tokenizer has beside the pieces: "</s>" after a text, and "<extra_id_0>", which has
// the largest id, and so on.
void finish_t5(const JsonFields& config, const SpecialIds& ids, Tokenizer::Impl& tokenizer) {
  if (config.string("tokenizer_class") == "GPTSw3Tokenizer") return;
  if (const TokenId eos = ids[1]; eos >= 0) tokenizer.after = {eos};
  std::size_t count = 100;
  config.read("extra_ids", count, 0, 1000);
  for (std::size_t i = count; i-- > 0;) {
    tokenizer.added.declare(
        {.content = concat("<extra_id_", i, ">"), .normalized = false, .special = true},
        config.where());
  }
}

// Makes the model of a vocab.txt, whose special tokens are known now.
void finish_bert(const Folder& folder, const SpecialIds& ids, Tokenizer::Impl& tokenizer) {
  const TokenId unknown = ids[2], sep = ids[3], cls = ids[5];
  if (unknown < 0 || sep < 0 || cls < 0) {
    fail(folder.files.front().string(), "expected lines with [UNK], [CLS] and [SEP]");
  }
  tokenizer.model = WordPiece(tokenizer.vocabulary, {.unknown = unknown});
  tokenizer.before = {cls};
  tokenizer.after = {sep};
}

// Returns the kind of the tokenizer and the number of its tokens, for people.
std::string describe(const Tokenizer::Impl& tokenizer) {
  const auto* const bpe = std::get_if<Bpe>(&tokenizer.model);
  const auto missing = bpe && tokenizer.is_byte_level ? bpe->missing_bytes() : 0;
  const char* const kinds[] = {tokenizer.is_byte_level ? "byte-level BPE" : "BPE of characters",
                               "WordPiece", "SentencePiece"};
  return concat(kinds[tokenizer.model.index()], ", ", tokenizer.vocabulary.count(), " tokens",
                missing > 0 ? concat(", none for ", missing, " of the 256 bytes") : "");
}

std::shared_ptr<const Tokenizer::Impl> load_from(Folder folder) {
  const auto tokenizer = std::make_shared<Tokenizer::Impl>();
  const MainFile main = read_main_files(folder, *tokenizer);

  const JsonFields config = folder.read_object(kTokenizerConfig);
  const JsonFields special = folder.read_object(kSpecialTokensMap);
  const JsonFields added = folder.read_object(kAddedTokens);
  const Family family = apply_config(config, main, *tokenizer);
  const SpecialIds ids = read_side_files(config, special, added, family, *tokenizer);
  if (main == MainFile::spiece_model) finish_t5(config, ids, *tokenizer);
  if (main == MainFile::vocab_txt) finish_bert(folder, ids, *tokenizer);
  std::array<TextBuffer, 2> buffers;
  tokenizer->added.prepare([&](std::string_view text) {
    return std::string(normalize({text}, tokenizer->normalizer, false, buffers).text);
  });
  std::string names;
  for (const fs::path& file : folder.files) {
    names += concat(names.empty() ? "" : ", ", file.filename().string());
  }
  tokenizer->description = concat(describe(*tokenizer), " (", names, ")");
  tokenizer->files = std::move(folder.files);
  return tokenizer;
}

}  // namespace

void declare_added_token(const JsonFields& fields, const json& id, Tokenizer::Impl& tokenizer) {
  AddedToken token = read_added_token(fields);
  token.id = read_token_id(id, token.content, fields.where());
  tokenizer.added.declare(token, fields.where(), AddedTokens::IfKnown::replace);
}

Tokenizer::Tokenizer() : impl_(std::make_shared<const Impl>()) {}

Tokenizer Tokenizer::load(const fs::path& path) {
  return Tokenizer(load_from(Folder(tokenizer_directory(path))));
}

Tokenizer Tokenizer::load(std::span<const MemoryFile> files) {
  return Tokenizer(load_from(Folder(FileSource(files))));
}

}  // namespace gpt2
