// Tests what the files of a tokenizer may contain: real folders load, and every kind of error is
// refused with a message that names it.
#include "base/fail.h"
#include "gpt2/tokenizer.h"
#include "support/test.h"
#include "support/tokenizer_cases.h"

namespace gpt2::test::tokenizer_files_test {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kVocab = R"({"a": 0, "b": 1, "ab": 2})";
constexpr const char* kMerges = "#version: 0.2\na b\n";

Tokenizer load(const Files& files) {
  const TemporaryDirectory folder;
  for (const auto& [name, text] : files) folder.write(name, text);
  return Tokenizer::load(folder.path());
}

// Checks that a tokenizer of these files is refused, and that the message names the fact.
void refused(const Files& files, std::string_view fact, ErrorCode code = ErrorCode::invalid_file) {
  CAPTURE(files);
  check_refused([&] { (void)load(files); }, {fact}, code);
}

// The same for one file, which replaces or joins a good vocab.json and merges.txt. The message
// begins with the file's name.
void refused_file(const std::string& name, const std::string& text, const std::string& fact,
                  ErrorCode code = ErrorCode::invalid_file) {
  Files files = {{name, text}};
  if (name != "vocab.json") files.emplace_back("vocab.json", kVocab);
  if (name != "merges.txt") files.emplace_back("merges.txt", kMerges);
  refused(files, name + fact, code);
}

json tiny_json() {
  const json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  return {{"version", "1.0"},
          {"added_tokens", json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", level},
          {"post_processor", level},
          {"decoder", level},
          {"model",
           {{"type", "BPE"}, {"vocab", json::parse(kVocab)}, {"merges", json::array({"a b"})}}}};
}

// What is put at a place in a good tokenizer.json, and what the refusal names. kRemoved removes.
struct Patch {
  const char* place;
  json value;
  const char* fact;
};

void refused_patches(const std::vector<Patch>& patches, ErrorCode code) {
  for (const auto& [place, value, fact] : patches) {
    json root = tiny_json();
    const json::json_pointer pointer(place);
    if (value.is_discarded()) {
      root[pointer.parent_pointer()].erase(pointer.back());
    } else {
      root[pointer] = value;
    }
    refused({{"tokenizer.json", root.dump()}}, std::string("tokenizer.json: ") + fact, code);
  }
}

const json kRemoved(json::value_t::discarded);

}  // namespace

TEST_CASE("the smallest tokenizers load under each of the supported file names") {
  const std::string root = tiny_json().dump();
  const std::pair<Files, const char*> cases[] = {
      {{{"tokenizer.json", root}}, "3 tokens, none for 254 of the 256 bytes (tokenizer.json)"},
      {{{"aitextgen.tokenizer.json", root}}, "(aitextgen.tokenizer.json)"},
      {{{"aitextgen-vocab.json", kVocab}, {"aitextgen-merges.txt", kMerges}},
       "(aitextgen-vocab.json, aitextgen-merges.txt)"},
      {{{"vocab.json", kVocab}, {"merges.txt", kMerges}, {"added_tokens.json", R"({"<pad>": 3})"}},
       "4 tokens, none for 254 of the 256 bytes (vocab.json, merges.txt, added_tokens.json)"},
  };
  for (const auto& [files, end] : cases) {
    CHECK(load(files).description().starts_with("byte-level BPE, "));
    CHECK(load(files).description().ends_with(end));
  }
}

TEST_CASE("merges.txt is read with or without a header, with either end of line") {
  for (const char* merges : {"a b", "a b\r\n", "\n\na b \t\n \n",
                             "#version: 0.2 - Trained by `huggingface/tokenizers`\r\na b\r\n",
                             "\xef\xbb\xbf#version: 0.2\na b"}) {
    CAPTURE(merges);
    CHECK(load({{"vocab.json", kVocab}, {"merges.txt", merges}}).encode("aab") ==
          std::vector<TokenId>{0, 2});
  }
}

TEST_CASE("a missing tokenizer, one of another kind and a git-lfs pointer have their own errors") {
  refused({}, "tokenizer.json", ErrorCode::not_found);
  refused({{"vocab.json", kVocab}}, "merges.txt", ErrorCode::not_found);
  for (const std::string name : {"tokenizer.model", "sentencepiece.bpe.model"}) {
    refused({{name, "x"}}, "SentencePiece (" + name, ErrorCode::unsupported);
  }
  refused({{"spiece.model", "x"}}, "spiece.model: the file is damaged");
  refused({{"vocab.txt", "[UNK]\n[CLS]\n"}}, "vocab.txt: expected lines with [UNK]");
  for (const std::string name : {"CLIPTokenizer", "Qwen2Tokenizer", "GPTNeoXTokenizerFast"}) {
    const std::string config = R"({"tokenizer_class": ")" + name + "\"}";
    const std::string fact = ": tokenizer_class is '" + name + "'; expected one of";
    refused_file("tokenizer_config.json", config, fact, ErrorCode::unsupported);
    refused({{"tokenizer.json", tiny_json().dump()}, {"tokenizer_config.json", config}}, fact,
            ErrorCode::unsupported);
  }
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt"}) {
    refused_file(name, pointer, ": a git-lfs pointer");
  }
}

TEST_CASE("refused: a path that does not lead to a folder, with the true cause", "[posix]") {
  const auto refused_at = [](const fs::path& path, const fs::path& at, std::string_view fact,
                             ErrorCode code) {
    check_refused([&] { (void)Tokenizer::load(path); }, {at.string(), fact}, code);
  };
  refused_at("/no/such/folder", "/no/such/folder", "no such file", ErrorCode::not_found);
  refused_at("/dev/null", "/dev/null", "neither a file nor a directory", ErrorCode::invalid_file);
  const TemporaryDirectory folder;
  folder.write("vocab.json", kVocab);
  folder.write("merges.txt", kMerges);
  CHECK_NOTHROW(Tokenizer::load(folder.path()));
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "added_tokens.json"}) {
    const fs::path link = folder.path() / name;
    fs::create_symlink("gone", link);  // ignoring it would lose its tokens silently
    refused_at(folder.path(), link, "a symbolic link to 'gone'", ErrorCode::not_found);
    fs::remove(link);
  }
}

TEST_CASE("refused: a vocabulary that is no object of different tokens with different ids") {
  const std::pair<std::string, const char*> cases[] = {
      {"{}", ": the vocabulary is empty"},
      {"", ": invalid JSON at column 1"},
      {R"({"a": 0, "a": 1})", ": the token 'a' appears twice"},
      {R"({"\u0120a": 3, "b": 3})", ": the tokens ' a' and 'b' have the same id, 3"},
      {R"({"a": -1})", ": the id of 'a' is -1"},
      {"{\"\\u001b[31m\": -1}", ": the id of '\\x1b[31m' is"},
  };
  for (const auto& [text, fact] : cases) refused_file("vocab.json", text, fact);
  for (const std::string id :
       {"1048576", "2147483648", "18446744073709551615", "99999999999999999999", "1.0", "\"1\""}) {
    refused_file("vocab.json", R"({"a": )" + id + "}", ": the id of 'a' is ");
  }
}

TEST_CASE("refused: merges that are no pairs of tokens of the vocabulary") {
  refused_file("merges.txt", "#version: 0.2\na\n", ": line 2: expected two tokens");
  for (const char* line : {"a b c", "a  b", " b", "a\tb"}) {
    refused_file("merges.txt", line, ": line 1: expected two tokens");
  }
  refused_file("merges.txt", "a \xff", ": merge 1, 'a' with '\\x");
  refused_file("merges.txt", "a b\nb c\n", ": merge 2, 'b' with 'c'");
  refused({{"vocab.json", kVocab}, {"merges.txt", "c a\n"}}, "found 'c'");
  refused({{"vocab.json", kVocab}, {"merges.txt", "b a\n"}}, "found 'ba'");
}

TEST_CASE("refused: sizes past the limits") {
  std::string merges;
  for (int i = 0; i <= 1 << 20; ++i) merges += "a b\n";
  refused_file("merges.txt", merges, ": expected at most 1048576 merges");
  const std::string long_token = R"({")" + std::string(1025, 'x') + R"(": 3})";
  const Files long_files = {
      {"vocab.json", kVocab}, {"merges.txt", kMerges}, {"added_tokens.json", long_token}};
  check_refused([&] { (void)load(long_files); }, {"added_tokens.json", "has 1025 bytes"});
  refused({{"vocab.json", R"({"a": 0, "b": 1048575})"},
           {"merges.txt", ""},
           {"special_tokens_map.json", R"({"pad_token": "x"})"}},
          "special_tokens_map.json: pad_token: the added token 'x' would have the id 1048576");
  refused_file("vocab.json", std::string(1000, '['), ": JSON nested deep");
  refused_file("tokenizer_config.json", R"({"a":)" + std::string(1000, '['), ": JSON nested deep");
  json deep = "ByteLevel";
  for (int i = 0; i < 200; ++i) deep = {{"type", deep}};
  refused_patches({{"/pre_tokenizer", deep, "JSON nested deeper than 128 levels"}},
                  ErrorCode::invalid_file);

  const TemporaryDirectory folder;
  folder.write("merges.txt", kMerges);
  const fs::path vocab = folder.write("vocab.json", "{");
  fs::resize_file(vocab, (std::uintmax_t{256} << 20) + 1);  // sparse: it takes no disk space
  check_refused([&] { (void)Tokenizer::load(folder.path()); }, {vocab.string(), "268435457 bytes"});
}

TEST_CASE("refused with key and value: a tokenizer.json of a kind that is not implemented") {
  const json level = tiny_json()["pre_tokenizer"];
  const auto steps = [](json list) {
    return json{{"type", "Sequence"}, {"pretokenizers", std::move(list)}};
  };
  const json split = {{"type", "Split"}, {"pattern", {{"Regex", "\\d"}}}};
  const json text_split = {{"type", "Split"}, {"pattern", {{"String", "-"}}}};
  const json replacing = {{"type", "Replace"}, {"pattern", {{"Regex", "-"}}}, {"content", ""}};
  const json digits = {{"type", "Digits"}};
  const json scripts = {{"type", "UnicodeScripts"}};
  const json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  const json no_text = {{"type", "TemplateProcessing"}, {"single", json::array()}};
  const json nmt = {{"type", "Sequence"}, {"normalizers", json::array({{{"type", "Nmt"}}})}};
  refused_patches(
      {
          {"/version", "2.0", "version is '2.0'"},
          {"/model/type", "WordPiece", "model: type is 'WordPiece'"},
          {"/model/continuing_subword_prefix", "##", "model: continuing_subword_prefix is '##'"},
          {"/model/byte_fallback", true, "model: byte_fallback is true"},
          {"/model/dropout", 0.1, "model: dropout is 0.1"},
          {"/model/end_of_word_suffix", "</w>", "model: end_of_word_suffix is '</w>'"},
          {"/normalizer", nmt, "normalizer: type is 'Nmt'"},
          {"/pre_tokenizer", steps({split, level}), "pre_tokenizer: pattern: Regex is '\\d'"},
          {"/pre_tokenizer", steps({text_split, level}), "pre_tokenizer: pattern: String is '-'"},
          {"/pre_tokenizer", steps({level, digits}),
           "pre_tokenizer: type is 'Sequence'; expected no step"},
          {"/pre_tokenizer", steps({scripts, level}), "pre_tokenizer: type is 'UnicodeScripts'"},
          {"/decoder/type", "Metaspace", "decoder: type is 'Metaspace'; expected ByteLevel"},
          {"/decoder", replacing, "decoder: pattern: Regex is '-'; expected a String"},
          {"/decoder", strip, "decoder: type is 'Strip'"},
          {"/post_processor/type", "Other", "post_processor: type is 'Other'"},
          {"/post_processor", no_text, "post_processor: single is an array"},
      },
      ErrorCode::unsupported);
}

TEST_CASE("refused with key and value: an invalid tokenizer.json") {
  refused({{"tokenizer.json", "[]"}}, "tokenizer.json is an array");
  refused({{"tokenizer.json", "{"}}, "tokenizer.json: invalid JSON at column 2");
  refused_patches(
      {
          {"/version", 1, "version is 1"},
          {"/model", kRemoved, "model is missing"},
          {"/model/merges", kRemoved, "model: merges is missing"},
          {"/model/merges", json::array({"a b", "b a"}), "merge 2, 'b' with 'a'"},
          {"/model/unk_token", "<unk>", "model: unk_token is '<unk>'"},
          {"/pre_tokenizer/type", kRemoved, "pre_tokenizer: type is missing"},
          {"/pre_tokenizer", {{"type", "Sequence"}}, "pre_tokenizer: pretokenizers is missing"},
          {"/pre_tokenizer/use_regex", "no", "pre_tokenizer: use_regex is 'no'"},
      },
      ErrorCode::invalid_file);

  for (const char* merge :
       {"7", R"("ab")", "{}", R"(["a"])", R"(["a", "b", "ab"])", R"(["a", 1])", R"(["a", ""])"}) {
    refused_patches({{"/model/merges", json::array({"a b", json::parse(merge)}),
                      "model.merges[1]: expected \"left right\""}},
                    ErrorCode::invalid_file);
  }
}

TEST_CASE("refused: a Unigram whose unknown piece or whose pieces are not there") {
  const auto unigram = [](const json& vocab, const json& unknown) {
    const json model = {{"type", "Unigram"}, {"vocab", vocab}, {"unk_id", unknown}};
    return Files{{"tokenizer.json", json{{"model", model}}.dump()}};
  };
  const json vocab = json::parse(R"([["<unk>", 0], ["a", -1], ["b", -2.5]])");
  CHECK_NOTHROW(load(unigram(vocab, 2)));
  CHECK_NOTHROW(load(unigram(vocab, nullptr)));
  refused(unigram(vocab, 99), "tokenizer.json: model: unk_id is 99; expected");
  refused(unigram(vocab, 3), "tokenizer.json: model: unk_id is 3; expected");
  refused(unigram(vocab, -1), "'unk_id' is -1");
  for (const char* wrong : {"[]", R"([["", 0]])", R"([["a"]])", R"([["a", "b"]])"}) {
    refused(unigram(json::parse(wrong), nullptr), "tokenizer.json: model: vocab is ");
  }
}

TEST_CASE("refused: a template with an unknown special token, or without the text once") {
  const auto single = [](const json& pieces, const char* fact) {
    const json processor = {{"type", "TemplateProcessing"}, {"single", pieces}};
    const std::string where = std::string("post_processor: ") + fact;
    refused_patches({{"/post_processor", processor, where.c_str()}}, ErrorCode::invalid_file);
  };
  const json text = {{"Sequence", {{"id", "A"}}}};
  const json token = {{"SpecialToken", {{"id", "x"}}}};
  single(json::array({json::object()}), "single is an array; expected an array of SpecialToken");
  single(json::array({token, text}), "single: SpecialToken: id is 'x'");
  single(json::array({{{"SpecialToken", 3}}, text}), "single: SpecialToken is 3");
}

TEST_CASE("refused: added tokens that contradict the vocabulary or one another") {
  const auto added = [](const char* tokens) {
    json root = tiny_json();
    root["added_tokens"] = json::parse(tokens);
    return Files{{"tokenizer.json", root.dump()}};
  };
  const std::pair<const char*, const char*> cases[] = {
      {R"(["x"])", " is 'x'; expected an object"},
      {R"([{"content": "x"}])", ": the id of 'x' is null"},
      {R"([{"content": "x", "id": 1048576}])", ": the id of 'x' is 1048576"},
      {R"([{"content": "x", "id": 3, "lstrip": 1}])", ": lstrip is 1"},
      {R"([{"content": "x", "id": 2}])", ": the added token 'x' has the id of 'ab', 2"},
      {R"([{"content": "ab", "id": 3}])", ": the added token 'ab' has the id 3"},
      {R"([{"content": "x", "id": 3}, {"content": "x", "id": 4}])",
       ": the added token 'x' has the id 4, but already has the id 3"},
      {R"([{"content": "x", "id": 3}, {"content": "y", "id": 3}])",
       ": the added token 'y' has the id of 'x', 3"},
  };
  for (const auto& [tokens, fact] : cases) {
    refused(added(tokens), std::string("tokenizer.json: added_tokens") + fact);
  }
  CHECK_NOTHROW(load(added(R"([{"content": "", "id": 9}])")));
}

TEST_CASE("refused: wrong values in the files beside the vocabulary") {
  struct Case {
    const char *file, *text, *fact;
  };
  const char* const config = "tokenizer_config.json";
  const char* const map = "special_tokens_map.json";
  const char* const added = "added_tokens.json";
  const Case cases[] = {
      {config, R"({"add_prefix_space": "yes"})", ": add_prefix_space is 'yes'"},
      {config, R"({"tokenizer_class": 3})", ": tokenizer_class is 3"},
      {config, R"({"add_bos_token": true})", ": add_bos_token is true"},
      {map, R"({"additional_special_tokens": "x"})", ": additional_special_tokens is 'x'"},
      {map, R"({"pad_token": {"lstrip": true}})", ": pad_token: content is missing"},
      {added, R"({"x": 3, "y": 3})", ": the added token 'y' has the id of 'x', 3"},
      {added, R"({"x": 1})", ": the added token 'x' has the id of 'b', 1"},
      {added, R"({"a": 1})", ": the added token 'a' has the id 1, but already has the id 0"},
  };
  for (const auto& [file, text, fact] : cases) refused_file(file, text, fact);
  for (const std::string id : {"-1", "x", "", "1048576", "3 ", "99999999999"}) {
    refused_file(config, R"({"added_tokens_decoder": {")" + id + R"(": {"content": "x"}}})",
                 ": added_tokens_decoder: the id of 'x' is " + (id == "1048576" ? id : quote(id)));
  }
}

}  // namespace gpt2::test::tokenizer_files_test
