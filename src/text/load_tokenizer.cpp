#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>

#include "base/fail.h"
#include "base/file_source.h"
#include "base/json.h"
#include "base/paths.h"
#include "formats/model_files.h"
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

// Files of other kinds of tokenizers.
constexpr std::pair<const char*, const char*> kOtherKinds[] = {
    {"tokenizer.model", "SentencePiece"},
    {"spiece.model", "SentencePiece"},
    {"sentencepiece.bpe.model", "SentencePiece"},
    {"vocab.txt", "WordPiece"}};

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
           "); expected GPT-2's byte-level BPE");
    }
    fail(ErrorCode::not_found, where,
         "no tokenizer; expected tokenizer.json or vocab.json and merges.txt");
  }

  std::vector<fs::path> files;  // the files that were read

 private:
  fs::path path_;  // empty for files in memory, whose paths are their names
  FileSource source_;
  std::deque<JsonDocument<nlohmann::json>> objects_;
};

// Reads the files that define the tokenizer. Returns whether this was a tokenizer.json.
bool read_main_files(Folder& folder, Tokenizer::Impl& tokenizer) {
  for (const char* name : kTokenizerJson) {
    if (!folder.has(name)) continue;
    read_tokenizer_json(folder.read(name), tokenizer);
    return true;
  }
  for (const auto& [vocab, merges] : kVocabularyFiles) {
    if (!folder.has(vocab)) continue;
    const TextFile first = folder.read(vocab);
    read_vocabulary(first, folder.read(merges), tokenizer);
    return false;
  }
  folder.nothing_found();
}

// Applies the settings in tokenizer_config.json that concern the tokenizer as a whole.
void apply_config(const JsonFields& config, bool is_tokenizer_json, Tokenizer::Impl& tokenizer) {
  const auto name = config.string("tokenizer_class");
  const auto is_one_of = [&](const auto& names) {
    return std::ranges::find(names, *name) != std::end(names);
  };
  const bool is_plain = name && is_one_of(kPlainClasses);
  if (name && !is_plain && !is_one_of(kClasses) && !is_tokenizer_json) {
    config.refuse("tokenizer_class", "'GPT2Tokenizer'", ErrorCode::unsupported);
  }
  bool is_wanted = is_plain && tokenizer.prefix_space != PrefixSpace::nowhere;
  config.read("add_prefix_space", is_wanted);
  if (tokenizer.has_own_prefix_space) return;
  const auto where = is_tokenizer_json ? PrefixSpace::before_pieces : PrefixSpace::before_text;
  tokenizer.prefix_space = is_wanted ? where : PrefixSpace::nowhere;
}

std::shared_ptr<const Tokenizer::Impl> load_from(Folder folder) {
  const auto tokenizer = std::make_shared<Tokenizer::Impl>();
  const bool is_tokenizer_json = read_main_files(folder, *tokenizer);

  const JsonFields config = folder.read_object(kTokenizerConfig);
  const JsonFields special = folder.read_object(kSpecialTokensMap);
  const JsonFields added = folder.read_object(kAddedTokens);
  apply_config(config, is_tokenizer_json, *tokenizer);
  read_side_files(config, special, added, *tokenizer);
  tokenizer->added.prepare();
  std::string names;
  for (const fs::path& file : folder.files) {
    names += concat(names.empty() ? "" : ", ", file.filename().string());
  }
  const auto missing = tokenizer->bpe.missing_bytes();
  tokenizer->description = concat(
      "byte-level BPE, ", tokenizer->vocabulary.count(), " tokens",
      missing > 0 ? concat(", none for ", missing, " of the 256 bytes") : "", " (", names, ")");
  tokenizer->files = std::move(folder.files);
  return tokenizer;
}

}  // namespace

Tokenizer Tokenizer::load(const fs::path& path) {
  return Tokenizer(load_from(Folder(directory_of(path))));
}

Tokenizer Tokenizer::load(std::span<const MemoryFile> files) {
  return Tokenizer(load_from(Folder(FileSource(files))));
}

}  // namespace gpt2
