// Tests what the files of a tokenizer may contain: real folders load, and every kind of error is
// refused with a message that names it.
#include <functional>

#include "base/fail.h"
#include "gpt2/error.h"
#include "gpt2/tokenizer.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"
#include "support/tokenizer_cases.h"

namespace gpt2::test::tokenizer_files_test {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

// Returns the message without the folder's name. Checks that the error has the expected code.
std::string refusal(const Files& files, ErrorCode code = ErrorCode::invalid_file) {
  const TemporaryDirectory folder;
  for (const auto& [name, text] : files) folder.write(name, text);
  try {
    return "(accepted) " + Tokenizer::load(folder.path()).description();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    std::string message = error.what();
    const std::string prefix = folder.path().string();
    for (std::size_t at; (at = message.find(prefix)) != message.npos;) {
      const char next = message.size() > at + prefix.size() ? message[at + prefix.size()] : ' ';
      message.erase(at, prefix.size() + (next == '/' || next == '\\'));
    }
    CHECK(message.find('\n') == message.npos);
    return message;
  }
}

constexpr const char* kVocab = R"({"a": 0, "b": 1, "ab": 2})";
constexpr const char* kMerges = "#version: 0.2\na b\n";

std::string vocab_refusal(const std::string& vocab, ErrorCode code = ErrorCode::invalid_file) {
  return refusal({{"vocab.json", vocab}, {"merges.txt", kMerges}}, code);
}

std::string merges_refusal(const std::string& merges) {
  return refusal({{"vocab.json", kVocab}, {"merges.txt", merges}});
}

std::string side_refusal(const std::string& name, const std::string& text,
                         ErrorCode code = ErrorCode::invalid_file) {
  return refusal({{"vocab.json", kVocab}, {"merges.txt", kMerges}, {name, text}}, code);
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

std::string json_refusal(const std::function<void(json&)>& edit,
                         ErrorCode code = ErrorCode::invalid_file) {
  json root = tiny_json();
  edit(root);
  return refusal({{"tokenizer.json", root.dump()}}, code);
}

}  // namespace

TEST_CASE("the smallest tokenizers load under each of the supported file names") {
  const std::string root = tiny_json().dump();
  CHECK(refusal({{"tokenizer.json", root}}).starts_with("(accepted) byte-level BPE, 3 tokens"));
  CHECK(refusal({{"aitextgen.tokenizer.json", root}}) ==
        "(accepted) byte-level BPE, 3 tokens, none for 254 of the 256 bytes "
        "(aitextgen.tokenizer.json)");
  CHECK(refusal({{"aitextgen-vocab.json", kVocab}, {"aitextgen-merges.txt", kMerges}}) ==
        "(accepted) byte-level BPE, 3 tokens, none for 254 of the 256 bytes "
        "(aitextgen-vocab.json, aitextgen-merges.txt)");
  CHECK(side_refusal("added_tokens.json", R"({"<pad>": 3})")
            .ends_with("4 tokens, none for 254 of the 256 bytes "
                       "(vocab.json, merges.txt, added_tokens.json)"));
  CHECK(vocab_refusal("{}") == "vocab.json: the vocabulary is empty");
  CHECK(json_refusal([](json& tokenizer) { tokenizer["model"]["vocab"] = json::object(); }) ==
        "tokenizer.json: the vocabulary is empty");
}

TEST_CASE("merges.txt is read with or without a header, with either end of line") {
  for (const char* merges : {"a b", "a b\n", "#version: 0.2\na b", "a b\r\n", "\n\na b\n\n",
                             "#version: 0.2 - Trained by `huggingface/tokenizers`\r\na b\r\n"}) {
    CAPTURE(merges);
    const TemporaryDirectory folder;
    folder.write("vocab.json", kVocab);
    folder.write("merges.txt", merges);
    CHECK(Tokenizer::load(folder.path()).encode("aab") == std::vector<TokenId>{0, 2});
  }
}

TEST_CASE("a missing tokenizer and one of another kind have different errors") {
  CHECK(refusal({}, ErrorCode::not_found) ==
        ": no tokenizer; expected tokenizer.json or vocab.json and merges.txt");
  CHECK(refusal({{"vocab.json", kVocab}}, ErrorCode::not_found).find("merges.txt") !=
        std::string::npos);
  for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}) {
    CHECK(refusal({{name, "x"}}, ErrorCode::unsupported) ==
          ": the tokenizer is of the kind SentencePiece (" + std::string(name) +
              "); expected GPT-2's byte-level BPE");
  }
  CHECK(refusal({{"vocab.txt", "[UNK]"}}, ErrorCode::unsupported) ==
        ": the tokenizer is of the kind WordPiece (vocab.txt); expected GPT-2's byte-level BPE");
  CHECK(side_refusal("tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})",
                     ErrorCode::unsupported) ==
        "tokenizer_config.json: tokenizer_class is 'CLIPTokenizer'; expected 'GPT2Tokenizer'");
}

TEST_CASE("refused: a git-lfs pointer in place of a tokenizer's file") {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
  for (const char* name : {"tokenizer.json", "vocab.json"}) {
    CHECK(refusal({{name, pointer}, {"merges.txt", kMerges}}) ==
          name + std::string(
                     ": a git-lfs pointer in place of the file; fetch it with 'git lfs pull'"));
  }
  CHECK(merges_refusal(pointer) ==
        "merges.txt: a git-lfs pointer in place of the file; fetch it with 'git lfs pull'");
}

TEST_CASE("a path to a file stands for its folder, as with models") {
  for (const char* name : {"", "vocab.json", "merges.txt"}) {
    CHECK(Tokenizer::load(tokenizer_data("small") / name).size() ==
          Tokenizer::load(tokenizer_data("small")).size());
  }
}

TEST_CASE("refused: a path that does not lead to a folder, with the true cause", "[posix]") {
  const auto load = [](const fs::path& path) {
    return refusal_of([&] { (void)Tokenizer::load(path); });
  };
  CHECK(load("/no/such/folder") == "/no/such/folder: no such file or directory");
  CHECK(load("/dev/null") ==
        "/dev/null: neither a file nor a directory; expected a model's directory or a file in it");
  const TemporaryDirectory folder;
  folder.write("vocab.json", kVocab);
  folder.write("merges.txt", kMerges);
  CHECK(load(folder.path()) == "(accepted)");
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "added_tokens.json"}) {
    fs::create_symlink("gone", folder.path() / name);  // ignoring it would lose its tokens silently
    CHECK(load(folder.path()) ==
          (folder.path() / name).string() + ": a symbolic link to 'gone', which does not exist");
    fs::remove(folder.path() / name);
  }
}

TEST_CASE("a vocabulary must be an object of different tokens with different ids") {
  CHECK(vocab_refusal("[]", ErrorCode::unsupported).find("the vocabulary is an array") !=
        std::string::npos);
  CHECK(vocab_refusal("7") == "vocab.json is 7; expected an object");
  CHECK(vocab_refusal("").starts_with("vocab.json: invalid JSON at column 1"));
  CHECK(vocab_refusal(R"({"a": 0, "a": 1})") ==
        "vocab.json: the token 'a' appears twice in the vocabulary");
  CHECK(vocab_refusal(R"({"\u0120a": 3, "b": 3})") ==
        "vocab.json: the tokens ' a' and 'b' have the same id, 3");
  CHECK(vocab_refusal(R"({"a": -1})") ==
        "vocab.json: the id of 'a' is -1; expected a number from 0 to 1048575");
  for (const char* id : {"1048576", "2147483648", "18446744073709551615", "99999999999999999999",
                         "1.0", "1e3", "null", "true", "\"1\"", "{}", "[0]"}) {
    CAPTURE(id);
    const std::string text = R"({"a": )" + std::string(id) + "}";
    CHECK(vocab_refusal(text).starts_with("vocab.json: the id of 'a' is "));
  }
  CHECK(vocab_refusal("{\"\\u001b[31m\": -1}").starts_with("vocab.json: the id of '\\x1b[31m' is"));
}

TEST_CASE("merges must be pairs of tokens of the vocabulary") {
  CHECK(merges_refusal("#version: 0.2\na\n") ==
        "merges.txt: line 2: expected two tokens and one space between them, found 'a'");
  for (const char* line : {"a b c", "a  b", " a b", "a ", " b", " ", "a b ", "a\tb"}) {
    CAPTURE(line);
    CHECK(merges_refusal(line).starts_with("merges.txt: line 1: expected two tokens"));
  }
  for (const char* line : {"a \xff", "a \xe4\xb8\xad", "a \xc4"}) {
    CAPTURE(line);
    CHECK(merges_refusal(line).starts_with("merges.txt: merge 1, 'a' with '\\x"));
  }
  CHECK(merges_refusal("a b\nb c\n") ==
        "merges.txt: merge 2, 'b' with 'c': expected only tokens of the vocabulary, found 'c'");
  CHECK(merges_refusal("c a\n").find("found 'c'") != std::string::npos);
  CHECK(merges_refusal("b a\n").find("found 'ba'") != std::string::npos);
}

TEST_CASE("refused: sizes past the limits") {
  std::string merges;
  for (int i = 0; i <= 1 << 20; ++i) merges += "a b\n";
  CHECK(merges_refusal(merges) == "merges.txt: expected at most 1048576 merges, found more");
  std::string long_token(std::size_t{5} << 20, 'x');
  CHECK(side_refusal("added_tokens.json", R"({")" + long_token + R"(": 3})")
            .find("brings the added tokens to more than 4194304 bytes") != std::string::npos);
  CHECK(refusal({{"vocab.json", R"({"a": 0, "b": 1048575})"},
                 {"merges.txt", ""},
                 {"special_tokens_map.json", R"({"pad_token": "x"})"}}) ==
        "special_tokens_map.json: pad_token: the added token 'x' would have the id 1048576; "
        "expected at most 1048575");
  CHECK(vocab_refusal(std::string(1000, '['), ErrorCode::unsupported).find("array") !=
        std::string::npos);
  CHECK(side_refusal("tokenizer_config.json", R"({"a":)" + std::string(1000, '[')) ==
        "tokenizer_config.json: JSON nested deeper than 128 levels");
  CHECK(json_refusal([](json& root) {
          json deep = "ByteLevel";
          for (int i = 0; i < 200; ++i) deep = {{"type", deep}};
          root["pre_tokenizer"] = deep;
        }) == "tokenizer.json: JSON nested deeper than 128 levels");
}

TEST_CASE("a file of more than 256 MiB is not read") {
  const TemporaryDirectory folder;
  folder.write("merges.txt", kMerges);
  const fs::path vocab = folder.write("vocab.json", "{");
  fs::resize_file(vocab, (std::uintmax_t{256} << 20) + 1);  // sparse: it takes no disk space
  CHECK(refusal_of([&] { (void)Tokenizer::load(folder.path()); }) ==
        vocab.string() + ": 268435457 bytes; expected at most 268435456");
}

TEST_CASE("a tokenizer.json of another kind than GPT-2's is refused with key and value") {
  const auto unsupported = [](const std::function<void(json&)>& edit) {
    return json_refusal(edit, ErrorCode::unsupported);
  };
  CHECK(unsupported([](json& r) { r["version"] = "2.0"; }) ==
        "tokenizer.json: version is '2.0'; expected '1.0'");
  CHECK(unsupported([](json& r) { r["model"]["type"] = "WordPiece"; }) ==
        "tokenizer.json: model: type is 'WordPiece'; expected 'BPE'");
  CHECK(unsupported([](json& r) {
          r["model"]["vocab"] = json::array({json::array({"a", 0.5})});
        }) ==
        "tokenizer.json: the vocabulary is an array, as in a Unigram model; expected an object, as "
        "in BPE");
  CHECK(unsupported([](json& r) { r["model"]["byte_fallback"] = true; }) ==
        "tokenizer.json: model: byte_fallback is true; expected none, as in GPT-2");
  CHECK(unsupported([](json& r) { r["model"]["dropout"] = 0.1; }) ==
        "tokenizer.json: model: dropout is 0.1; expected none, as in GPT-2");
  CHECK(unsupported([](json& r) { r["model"]["end_of_word_suffix"] = "</w>"; }) ==
        "tokenizer.json: model: end_of_word_suffix is '</w>'; expected none, as in GPT-2");
  CHECK(unsupported([](json& r) { r["model"]["continuing_subword_prefix"] = "##"; }) ==
        "tokenizer.json: model: continuing_subword_prefix is '##'; expected none, as in GPT-2");
  CHECK(unsupported([](json& r) {
          r["normalizer"] = {{"type", "NFC"}};
        }) == "tokenizer.json: normalizer: type is 'NFC'; expected none");
  CHECK(unsupported([](json& r) {
          r["normalizer"] = {{"type", "Sequence"},
                             {"normalizers", json::array({{{"type", "Lowercase"}}})}};
        }) == "tokenizer.json: normalizer: type is 'Lowercase'; expected none");
  CHECK(unsupported([](json& r) { r["pre_tokenizer"] = nullptr; }) ==
        "tokenizer.json: pre_tokenizer has 0 steps; expected one, 'ByteLevel'");
  CHECK(unsupported([](json& r) { r["pre_tokenizer"]["type"] = "Whitespace"; }) ==
        "tokenizer.json: pre_tokenizer: type is 'Whitespace'; expected 'ByteLevel'");
  CHECK(unsupported([](json& r) {
          const json level = r["pre_tokenizer"];
          r["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {level, level}}};
        }) == "tokenizer.json: pre_tokenizer has 2 steps; expected one, 'ByteLevel'");
  CHECK(unsupported([](json& r) {
          const json digits = {{"type", "Digits"}, {"individual_digits", true}};
          r["pre_tokenizer"] = {{"type", "Sequence"},
                                {"pretokenizers", {digits, r["pre_tokenizer"]}}};
        }) == "tokenizer.json: pre_tokenizer: type is 'Digits'; expected 'ByteLevel'");
  CHECK(unsupported([](json& r) { r["decoder"]["type"] = "Metaspace"; }) ==
        "tokenizer.json: decoder: type is 'Metaspace'; expected 'ByteLevel'");
  CHECK(unsupported([](json& r) { r["post_processor"]["type"] = "RobertaProcessing"; }) ==
        "tokenizer.json: post_processor: type is 'RobertaProcessing'; expected 'ByteLevel', or "
        "'TemplateProcessing' once");
  CHECK(unsupported([](json& r) {
          r["post_processor"] = {{"type", "TemplateProcessing"}, {"single", json::array()}};
        }) ==
        "tokenizer.json: post_processor: single is an array; expected an array with one Sequence");
  CHECK(json_refusal([](json& r) {
          json special;  // a short file that asks for many tokens
          special["a"]["ids"] = std::vector<int>(8, 0);
          json single = json::array();
          for (int i = 0; i < 9; ++i) single.push_back({{"SpecialToken", {{"id", "a"}}}});
          r["post_processor"] = {
              {"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", special}};
        }) ==
        "tokenizer.json: post_processor: single is an array; expected no more than 64 special "
        "tokens");
}

TEST_CASE("an invalid tokenizer.json is refused with key and value") {
  CHECK(refusal({{"tokenizer.json", "[]"}}) == "tokenizer.json is an array; expected an object");
  CHECK(refusal({{"tokenizer.json", "{"}}).starts_with("tokenizer.json: invalid JSON at column 2"));
  CHECK(json_refusal([](json& r) { r["version"] = 1; }) ==
        "tokenizer.json: version is 1; expected a string");
  CHECK(json_refusal([](json& r) { r.erase("model"); }) ==
        "tokenizer.json: model is missing; expected an object");
  CHECK(json_refusal([](json& r) { r["model"] = "BPE"; }) ==
        "tokenizer.json: model is 'BPE'; expected an object");
  CHECK(json_refusal([](json& r) { r["model"].erase("vocab"); }) ==
        "tokenizer.json: model: vocab is missing; expected an object of tokens and their ids");
  CHECK(json_refusal([](json& r) { r["model"].erase("merges"); }) ==
        "tokenizer.json: model: merges is missing; expected an array");
  CHECK(json_refusal([](json& r) {
          r["model"]["merges"] = {{"a", "b"}};
        }) == "tokenizer.json: model: merges is an object; expected an array");
  CHECK(json_refusal([](json& r) { r["model"]["unk_token"] = "<unk>"; }) ==
        "tokenizer.json: model: unk_token is '<unk>'; expected a token of the vocabulary");
  CHECK(json_refusal([](json& r) { r["model"]["fuse_unk"] = 1; }) ==
        "tokenizer.json: model: fuse_unk is 1; expected true or false");
  CHECK(json_refusal([](json& r) { r["pre_tokenizer"].erase("type"); }) ==
        "tokenizer.json: pre_tokenizer: type is missing; expected a string");
  CHECK(json_refusal([](json& r) { r["pre_tokenizer"] = 5; }) ==
        "tokenizer.json: pre_tokenizer is 5; expected an object");
  CHECK(json_refusal([](json& r) {
          r["pre_tokenizer"] = {{"type", "Sequence"}};
        }) == "tokenizer.json: pre_tokenizer: pretokenizers is missing; expected an array");
  CHECK(json_refusal([](json& r) { r["pre_tokenizer"]["use_regex"] = "no"; }) ==
        "tokenizer.json: pre_tokenizer: use_regex is 'no'; expected true or false");
}

TEST_CASE("each form of a merge in tokenizer.json is checked") {
  const auto merges = [](json value) {
    return json_refusal([&](json& root) { root["model"]["merges"] = std::move(value); });
  };
  const std::string expected =
      "tokenizer.json: model.merges[1]: expected \"left right\" or [\"left\", \"right\"], found ";
  CHECK(merges(json::array({"a b", 7})) == expected + "7");
  CHECK(merges(json::array({"a b", nullptr})) == expected + "null");
  CHECK(merges(json::array({"a b", "ab"})) == expected + "'ab'");
  CHECK(merges(json::array({"a b", json::object()})) == expected + "an object");
  for (const json& pair :
       {json::array(), json::array({"a"}), json::array({"a", "b", "ab"}), json::array({"a", 1}),
        json::array({1, "b"}), json::array({"a", ""}), json::array({"a", json::array({"b"})}),
        json::array({json::object(), "b"})}) {
    CAPTURE(pair.dump());
    CHECK(merges(json::array({json::array({"a", "b"}), pair})) == expected + "another array");
  }
  CHECK(merges(json::array({"a b", "b a"})) ==
        "tokenizer.json: merge 2, 'b' with 'a': expected only tokens of the vocabulary, found "
        "'ba'");
}

TEST_CASE("a template must name its special tokens and contain the text once") {
  const auto single = [](json pieces, json special_tokens = json::object()) {
    return json_refusal([&](json& root) {
      root["post_processor"] = {{"type", "TemplateProcessing"},
                                {"single", std::move(pieces)},
                                {"special_tokens", std::move(special_tokens)}};
    });
  };
  const json text = {{"Sequence", {{"id", "A"}}}};
  const json token = {{"SpecialToken", {{"id", "a"}}}};
  CHECK(single(json::array({json::object()})) ==
        "tokenizer.json: post_processor: single is an array; expected an array of SpecialToken and "
        "Sequence");
  CHECK(single("x") == "tokenizer.json: post_processor: single is 'x'; expected an array");
  CHECK(single(json::array({5})) ==
        "tokenizer.json: post_processor: single is 5; expected an object");
  CHECK(single(json::array({token, text})) ==
        "tokenizer.json: post_processor: single: SpecialToken: id is 'a'; expected one of "
        "special_tokens");
  CHECK(single(json::array({{{"SpecialToken", 3}}, text})) ==
        "tokenizer.json: post_processor: single: SpecialToken is 3; expected an object");
  CHECK(single(json::array({token, text}), {{"a", {{"ids", 3}}}}) ==
        "tokenizer.json: post_processor: special_tokens: ids is 3; expected an array");
  CHECK(
      single(json::array({token, text}), {{"a", {{"ids", {-1}}}}}) ==
      "tokenizer.json: post_processor: special_tokens: the id of 'a' is -1; expected a number from "
      "0 to 1048575");
}

TEST_CASE("added tokens must agree with the vocabulary and with one another") {
  const auto added = [](json tokens) {
    return json_refusal([&](json& root) { root["added_tokens"] = std::move(tokens); });
  };
  CHECK(added("x") == "tokenizer.json: added_tokens is 'x'; expected an array");
  CHECK(added(json::array({"x"})) == "tokenizer.json: added_tokens is 'x'; expected an object");
  CHECK(added(json::array({{{"id", 3}}})) ==
        "tokenizer.json: added_tokens: content is missing; expected a string");
  CHECK(added(json::array({{{"content", "x"}}})) ==
        "tokenizer.json: added_tokens: the id of 'x' is null; expected a number from 0 to 1048575");
  CHECK(added(json::array({{{"content", "x"}, {"id", 1048576}}})) ==
        "tokenizer.json: added_tokens: the id of 'x' is 1048576; expected a number from 0 to "
        "1048575");
  CHECK(added(json::array({{{"content", "x"}, {"id", 3}, {"lstrip", 1}}})) ==
        "tokenizer.json: added_tokens: lstrip is 1; expected true or false");
  CHECK(added(json::array({{{"content", "x"}, {"id", 2}}})) ==
        "tokenizer.json: added_tokens: the added token 'x' has the id of 'ab', 2; expected one of "
        "its own");
  CHECK(
      added(json::array({{{"content", "ab"}, {"id", 3}}})) ==
      "tokenizer.json: added_tokens: the added token 'ab' has the id 3, but already has the id 2");
  CHECK(added(json::array({{{"content", "x"}, {"id", 3}}, {{"content", "x"}, {"id", 4}}})) ==
        "tokenizer.json: added_tokens: the added token 'x' has the id 4, but already has the id 3");
  CHECK(added(json::array({{{"content", "x"}, {"id", 3}}, {{"content", "y"}, {"id", 3}}})) ==
        "tokenizer.json: added_tokens: the added token 'y' has the id of 'x', 3; expected one of "
        "its own");
  CHECK(added(json::array({{{"content", ""}, {"id", 9}}})).starts_with("(accepted)"));
}

TEST_CASE("the files beside the vocabulary are checked as well") {
  CHECK(side_refusal("tokenizer_config.json", "[]") ==
        "tokenizer_config.json is an array; expected an object");
  CHECK(side_refusal("tokenizer_config.json", R"({"add_prefix_space": "yes"})") ==
        "tokenizer_config.json: add_prefix_space is 'yes'; expected true or false");
  CHECK(side_refusal("tokenizer_config.json", R"({"tokenizer_class": 3})") ==
        "tokenizer_config.json: tokenizer_class is 3; expected a string");
  CHECK(side_refusal("tokenizer_config.json", R"({"add_bos_token": true})") ==
        "tokenizer_config.json: add_bos_token is true; expected false, because no bos_token is "
        "given");
  CHECK(side_refusal("tokenizer_config.json", R"({"eos_token": 5})") ==
        "tokenizer_config.json: eos_token is 5; expected an object");
  CHECK(side_refusal("tokenizer_config.json", R"({"added_tokens_decoder": []})") ==
        "tokenizer_config.json: added_tokens_decoder is an array; expected an object");
  for (const std::string id : {"-1", "x", "", "1048576", "3 ", "99999999999"}) {
    CAPTURE(id);
    const std::string shown = id == "1048576" ? id : quote(id);
    CHECK(side_refusal("tokenizer_config.json",
                       json({{"added_tokens_decoder", {{id, {{"content", "x"}}}}}}).dump()) ==
          "tokenizer_config.json: added_tokens_decoder: the id of 'x' is " + shown +
              "; expected a number from 0 to 1048575");
  }
  CHECK(side_refusal("special_tokens_map.json", R"({"additional_special_tokens": "x"})") ==
        "special_tokens_map.json: additional_special_tokens is 'x'; expected an array");
  CHECK(side_refusal("special_tokens_map.json", R"({"pad_token": {"lstrip": true}})") ==
        "special_tokens_map.json: pad_token: content is missing; expected a string");
  CHECK(side_refusal("added_tokens.json", R"({"x": "3"})") ==
        "added_tokens.json: the id of 'x' is '3'; expected a number from 0 to 1048575");
  CHECK(side_refusal("added_tokens.json", R"({"x": 3, "y": 3})") ==
        "added_tokens.json: the added token 'y' has the id of 'x', 3; expected one of its own");
  CHECK(side_refusal("added_tokens.json", R"({"x": 1})") ==
        "added_tokens.json: the added token 'x' has the id of 'b', 1; expected one of its own");
  CHECK(side_refusal("added_tokens.json", R"({"a": 1})") ==
        "added_tokens.json: the added token 'a' has the id 1, but already has the id 0");
}

TEST_CASE("real tokenizers load, and GPT-2's give GPT-2's ids") {
  const fs::path models = fs::path(GPT2_SHARED_DIR) / "models";
  if (!fs::exists(models)) {
    WARN("skipped: no " << models.string());
    return;
  }
  const std::vector<TokenId> expected = {464, 2068, 7586, 21831, 18045, 625, 262, 16931, 3290, 13};
  std::size_t loaded = 0;
  for (const auto& entry : fs::recursive_directory_iterator(models)) {
    if (!entry.is_directory()) continue;
    const bool has_one = fs::exists(entry.path() / "vocab.json") ||
                         fs::exists(entry.path() / "tokenizer.json") ||
                         fs::exists(entry.path() / "aitextgen.tokenizer.json");
    if (!has_one) continue;
    CAPTURE(entry.path().string());
    const Tokenizer tokenizer = Tokenizer::load(entry.path());
    CHECK(tokenizer.end_of_text());
    const std::string text = "The quick brown fox jumps over the lazy dog.";
    const auto ids = tokenizer.encode(text);
    if (tokenizer.size() == 50257) CHECK(ids == expected);
    if (tokenizer.size() >= 256) CHECK(tokenizer.decode(ids) == text);
    ++loaded;
  }
  WARN("loaded " << loaded << " real tokenizers");
}

}  // namespace gpt2::test::tokenizer_files_test
