// Compares all kinds of tokenizers with HuggingFace's tokenizers and SentencePiece, whose results
// are in tests/data/oracle/tokenizers, and reads nanoGPT's meta.pkl.
#include "gpt2/tokenizer.h"
#include "support/test.h"
#include "support/tokenizer_cases.h"
#include "support/torch_file.h"

namespace gpt2::test::tokenizer_kinds_test {

using nlohmann::json;
namespace fs = std::filesystem;
using Ids = std::vector<TokenId>;

namespace {

fs::path oracle() { return fs::path(GPT2_TEST_DATA) / "oracle" / "tokenizers"; }

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(oracle())) {
    if (entry.is_directory()) all.push_back(entry.path());
  }
  std::ranges::sort(all);
  return all;
}

// The text of a case as SentencePiece itself gives it, where T5Tokenizer strips it.
std::string text_of(const json& one) {
  const auto own = one.find("decoded_sentencepiece");
  return (own != one.end() ? *own : one.at("decoded")).get<std::string>();
}

// The text as the decoder gives it out token by token. What it has given out never changes.
std::string streamed(const Tokenizer& tokenizer, const Ids& ids, bool skip_special) {
  Detokenizer stream(tokenizer);
  std::string text;
  for (const TokenId id : ids) {
    if (!skip_special || !tokenizer.is_special(id)) text += stream.write(id);
  }
  return replaced(text += stream.flush());
}

void check_folder(const fs::path& data, const Tokenizer& tokenizer, bool decodes = true) {
  CAPTURE(data.filename().string(), tokenizer.description());
  // These ids are those of SentencePiece itself, which finds no special tokens.
  const bool is_raw = data.filename() == "spm_bpe_gptsw3";
  const EncodeOptions bare = {.parse_special = !is_raw, .add_special_tokens = false};
  const EncodeOptions whole = {.parse_special = !is_raw, .post_process = true};
  for (const json& one : read_lines(data / "cases.jsonl")) {
    const auto text = one.at("text").get<std::string>();
    const auto ids = one.at("ids").get<Ids>();
    CAPTURE(text);
    EncodeOptions with_ranges = bare;
    with_ranges.with_ranges = true;
    const auto [same_ids, ranges, lost] = tokenizer.encode_text(text, with_ranges);
    CHECK(same_ids == ids);
    CHECK(tokenizer.encode(text, bare) == ids);
    if (const auto own = one.find("ids_sentencepiece"); own != one.end()) {
      CHECK(tokenizer.encode(text, {.parse_special = false, .add_special_tokens = false}) ==
            own->get<Ids>());
    }
    CHECK(tokenizer.encode(text, whole) == one.at("ids_special").get<Ids>());
    REQUIRE(ranges.size() == ids.size());
    std::size_t begin = 0;
    for (const TextRange& range : ranges) {
      const bool is_ordered = begin <= range.begin && range.begin <= range.end;
      if (!is_ordered || range.end > text.size()) FAIL_CHECK("a wrong range");
      begin = range.begin;
    }
    if (decodes) CHECK(streamed(tokenizer, ids, true) == text_of(one));
    if (const auto all = one.find("decoded_all"); all != one.end()) {
      CHECK(streamed(tokenizer, ids, false) == all->get<std::string>());
    }
  }
  if (!decodes || !fs::exists(data / "decode.jsonl")) return;
  for (const json& one : read_lines(data / "decode.jsonl")) {
    const auto ids = one.at("ids").get<Ids>();
    CAPTURE(ids);
    CHECK(streamed(tokenizer, ids, true) == text_of(one));
    CHECK(replaced(tokenizer.decode(ids)) == one.at("decoded_all").get<std::string>());
  }
}

// What Python's pickle.dumps() makes of the meta of prepare.py for "To be, or not to be:\n\u00e9",
// with the default protocol of Python 3.8 to 3.13.
const std::string kMeta(
    "\200\004\225\243\000\000\000\000\000\000\000}\224(\214\012vocab_size\224K\014\214\004itos\224"
    "}\224(K\000\214\001\012\224K\001\214\001 \224K\002\214\001,\224K\003\214\001:\224K\004\214\001"
    "T\224K\005\214\001b\224K\006\214\001e\224K\007\214\001n\224K\010\214\001o\224K\011\214\001r"
    "\224K\012\214\001t\224K\013\214\002\303\251\224u\214\004stoi\224}\224(h\004K\000h\005K\001h"
    "\006K\002h\007K\003h\010K\004h\011K\005h\012K\006h\013K\007h\014K\010h\015K\011h\016K\012h"
    "\017K\013uu.",
    174);

}  // namespace

TEST_CASE("ids and texts equal those of HuggingFace's tokenizers and of SentencePiece") {
  for (const fs::path& folder : folders()) check_folder(folder, Tokenizer::load(folder));
}

TEST_CASE("the text of a token depends on the tokens before it, also on those of a prompt") {
  const Tokenizer tokenizer = Tokenizer::load(oracle() / "wordpiece_uncased_chinese");
  const Ids prompt = tokenizer.encode("the");
  const Ids start = {*tokenizer.find("[CLS]")};
  CHECK(Detokenizer(tokenizer).write(prompt[0]) == "the");
  CHECK(Detokenizer(tokenizer, start).write(prompt[0]) == "the");
  CHECK(Detokenizer(tokenizer, prompt).write(prompt[0]) == " the");
}

TEST_CASE("the last token of a text ends no word, unless another text follows") {
  const Tokenizer tokenizer = Tokenizer::load(oracle() / "ch_eow");
  const Ids prompt = tokenizer.encode("the fox");
  CHECK(Detokenizer(tokenizer, prompt).flush().empty());
  Detokenizer next(tokenizer, prompt);
  std::string text;
  for (const TokenId id : tokenizer.encode("the")) text += next.write(id);
  CHECK(text + std::string(next.flush()) == " the");
}

TEST_CASE("a range is the part of the text as the caller wrote it") {
  const std::string text = " Th\u00c9 \uff11\uff12 [MASK]the";
  const auto parts = [&](const char* folder) {
    const Tokenizer tokenizer = Tokenizer::load(oracle() / folder);
    std::vector<std::string> all;
    for (const auto& [begin, end] : tokenizer.encode_text(text, {.with_ranges = true}).ranges)
      all.push_back(text.substr(begin, end - begin));
    return all;
  };
  using Parts = std::vector<std::string>;
  CHECK(parts("wordpiece_uncased_chinese").front() == "Th\u00c9");
  CHECK(parts("wordpiece_uncased_chinese").back() == "the");
  const Parts pieces = parts("bytelevel_nfkc");
  CHECK(std::ranges::find(pieces, "\uff11") != pieces.end());
}

TEST_CASE("a vocab.txt gives what its tokenizer.json gives") {
  for (const fs::path& folder : folders()) {
    if (!fs::exists(folder / "vocab.txt")) continue;
    const TemporaryDirectory copy;
    for (const char* name : {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json"}) {
      copy.write(name, read_text(folder / name));
    }
    // The decoder of this tokenizer.json has no cleanup, which a vocab.txt cannot say.
    check_folder(folder, Tokenizer::load(copy.path()),
                 folder.filename() != "wordpiece_no_chinese_split");
  }
}

TEST_CASE("each character of meta.pkl is a token") {
  const TemporaryDirectory directory;
  directory.write("meta.pkl", kMeta);
  const Tokenizer tokenizer = Tokenizer::load(directory.path());
  CHECK(tokenizer.size() == 12);
  const std::vector<TokenId> ids = {4, 8, 1, 5, 11, 0};
  CHECK(tokenizer.encode("To b\u00e9\n") == ids);
  CHECK(tokenizer.decode(ids) == "To b\u00e9\n");
}

TEST_CASE("refused: a meta.pkl without characters by their ids") {
  const TemporaryDirectory directory;
  for (const std::string& root :
       {std::string("N"), py_dict({{"stoi", "}"}}), py_dict({{"itos", "]"}}),
        py_dict({{"itos", py_dict({{"a", "K\1"}})}}), kProto2}) {
    CAPTURE(root);
    directory.write("meta.pkl", root + ".");
    check_refused([&] { (void)Tokenizer::load(directory.path()); }, {"meta.pkl"});
  }
}

}  // namespace gpt2::test::tokenizer_kinds_test
