#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>
#include <variant>

#include "base/fail.h"
#include "base/file_source.h"
#include "base/json.h"
#include "base/paths.h"
#include "formats/model_files.h"
#include "gpt2/model_files.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

// The classes of tokenizers that do not change what a tokenizer.json says.
constexpr std::string_view kPlainClasses[] = {"PreTrainedTokenizerFast", "TokenizersBackend"};

// The other classes whose vocab.json and merges.txt have the same meaning as GPT-2's. With a
// tokenizer.json, they only replace its add_prefix_space.
constexpr std::string_view kClasses[] = {"GPT2Tokenizer", "GPT2TokenizerFast", "CodeGenTokenizer",
                                         "CodeGenTokenizerFast"};

// The classes of BERT, which have a vocab.txt. With a tokenizer.json, they replace the settings of
// its BertNormalizer.
constexpr std::string_view kBertClasses[] = {"BertTokenizer", "BertTokenizerFast"};

// The classes that have a spiece.model.
constexpr std::string_view kSentencePieceClasses[] = {"T5Tokenizer", "T5TokenizerFast",
                                                      "GPTSw3Tokenizer"};

// Files of other kinds of tokenizers.
constexpr std::pair<const char*, const char*> kOtherKinds[] = {
    {"tokenizer.model", "SentencePiece"}, {"sentencepiece.bpe.model", "SentencePiece"}};

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
    const std::string where = source_.is_memory() ? "memory" : path_.string();
    for (const auto& [file, kind] : kOtherKinds) {
      if (!has(file)) continue;
      fail(ErrorCode::unsupported, where, "the tokenizer is of the kind ", kind, " (", file,
           "); expected tokenizer.json, vocab.json or vocab.txt");
    }
    fail(ErrorCode::not_found, where,
         "no tokenizer; expected tokenizer.json, vocab.json and merges.txt, vocab.txt or "
         "spiece.model");
  }

  std::vector<fs::path> files;  // the files that were read

 private:
  fs::path path_;  // empty for files in memory, whose paths are their names
  FileSource source_;
  std::deque<JsonDocument<nlohmann::json>> objects_;
};

enum class MainFile : std::uint8_t { spiece_model, tokenizer_json, vocab_json, vocab_txt };

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

template <std::size_t n>
bool is_one_of(const std::optional<std::string>& name, const std::string_view (&names)[n]) {
  return name && std::ranges::find(names, *name) != std::end(names);
}

// Applies BERT's settings in tokenizer_config.json, and decides on the normalizer.
void apply_bert_config(const JsonFields& config, bool is_bert, Tokenizer::Impl& tokenizer) {
  if (!tokenizer.bert_normalizer) return;
  BertNormalizer& bert = *tokenizer.bert_normalizer;
  if (is_bert) {
    bert = {.clean_text = bert.clean_text, .strip_accents = std::nullopt};
    config.read("do_lower_case", bert.lowercase);
    config.read("tokenize_chinese_chars", bert.handle_chinese_chars);
    if (config.find("strip_accents")) config.read("strip_accents", bert.strip_accents.emplace());
  }
  bert.append_to(tokenizer.normalizer);
}

// Applies the settings in tokenizer_config.json that concern the tokenizer as a whole.
// Returns the class whose defaults count.
TokenizerClass apply_config(const JsonFields& config, MainFile main, Tokenizer::Impl& tokenizer) {
  const auto name = config.string("tokenizer_class");
  const bool is_plain = is_one_of(name, kPlainClasses);
  const bool is_bert_class = is_one_of(name, kBertClasses);
  const bool is_bert = is_bert_class || main == MainFile::vocab_txt;
  const auto expect = [&](MainFile file, bool is_right, const char* expected) {
    if (main != file || !name || is_right) return;
    config.refuse("tokenizer_class", expected, ErrorCode::unsupported);
  };
  expect(MainFile::vocab_txt, is_bert_class, "'BertTokenizer'");
  expect(MainFile::vocab_json, is_plain || is_one_of(name, kClasses), "'GPT2Tokenizer'");
  expect(MainFile::spiece_model, is_one_of(name, kSentencePieceClasses), "'T5Tokenizer'");
  apply_bert_config(config, is_bert, tokenizer);
  if (main == MainFile::spiece_model) return TokenizerClass::t5;
  if (is_bert) return TokenizerClass::bert;
  if (tokenizer.has_own_prefix_space) return TokenizerClass::gpt2;
  std::string& prefix = tokenizer.pre_tokenizer.front().prefix;
  bool is_wanted = is_plain && !prefix.empty();
  config.read("add_prefix_space", is_wanted);
  prefix = is_wanted && main == MainFile::tokenizer_json ? " " : "";
  tokenizer.has_space_before = is_wanted && main == MainFile::vocab_json;
  return TokenizerClass::gpt2;
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

// Returns the text as the normalizer changes it.
std::string normalized(const Tokenizer::Impl& tokenizer, std::string_view text) {
  std::string result(text);
  for (const Rewrite& step : tokenizer.normalizer) {
    TextBuffer buffer;
    rewrite_text({result}, "", step, /*with_origins=*/false, buffer);
    result = std::move(buffer.text);
  }
  return result;
}

std::shared_ptr<const Tokenizer::Impl> load_from(Folder folder) {
  const auto tokenizer = std::make_shared<Tokenizer::Impl>();
  const MainFile main = read_main_files(folder, *tokenizer);

  const JsonFields config = folder.read_object(kTokenizerConfig);
  const JsonFields special = folder.read_object(kSpecialTokensMap);
  const JsonFields added = folder.read_object(kAddedTokens);
  const TokenizerClass of_class = apply_config(config, main, *tokenizer);
  const SpecialIds ids = read_side_files(config, special, added, of_class, *tokenizer);
  if (main == MainFile::spiece_model) finish_t5(config, ids, *tokenizer);
  if (main == MainFile::vocab_txt) finish_bert(folder, ids, *tokenizer);
  tokenizer->added.prepare([&](std::string_view text) { return normalized(*tokenizer, text); });
  std::string names;
  for (const fs::path& file : folder.files) {
    names += concat(names.empty() ? "" : ", ", file.filename().string());
  }
  tokenizer->description = concat(describe(*tokenizer), " (", names, ")");
  tokenizer->files = std::move(folder.files);
  return tokenizer;
}

}  // namespace

Tokenizer::Tokenizer() : impl_(std::make_shared<const Impl>()) {}

Tokenizer Tokenizer::load(const fs::path& path) {
  // An adapter's own tokenizer needs no base.
  const bool is_own = has_tokenizer_files(directory_of(path));
  return Tokenizer(load_from(Folder(directory_of(is_own ? path : find_places(path).tokenizer))));
}

Tokenizer Tokenizer::load(std::span<const MemoryFile> files) {
  return Tokenizer(load_from(Folder(FileSource(files))));
}

}  // namespace gpt2
