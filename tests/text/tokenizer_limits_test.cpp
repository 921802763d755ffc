// Tests what a tokenizer cannot do: encode some texts, and match some models.
#include <nlohmann/json.hpp>

#include "gpt2/tokenizer.h"
#include "support/test.h"
#include "support/tokenizer_cases.h"

namespace gpt2::test::tokenizer_limits_test {

using nlohmann::json;

namespace {

using Files = std::map<std::string, json>;

Tokenizer load(const Files& files, const std::string& merges = "a b\n") {
  const test::TemporaryDirectory folder;
  folder.write("merges.txt", merges);
  for (const auto& [name, content] : files) folder.write(name, content.dump());
  return Tokenizer::load(folder.path());
}

// Returns a vocabulary with ordinary tokens, "A0" "A1" ..., that no merge produces.
json vocabulary_of(std::size_t count) {
  json vocabulary = {{"a", 0}, {"b", 1}, {"ab", 2}};
  for (std::size_t id = vocabulary.size(); id < count; ++id) {
    vocabulary["A" + std::to_string(id)] = id;
  }
  return vocabulary;
}

std::size_t lost_bytes(const Tokenizer& tokenizer, std::string_view text,
                       const EncodeOptions& options = {}) {
  return tokenizer.encode_text(text, options).lost_bytes;
}

void require_match(const Tokenizer& tokenizer, std::size_t embeddings) {
  Config config;
  config.vocab_size = embeddings;
  tokenizer.require_match(config);
}

}  // namespace

TEST_CASE("encode counts the bytes that no token stands for") {
  const Tokenizer tokenizer = load({{"vocab.json", {{"a", 0}, {"b", 1}, {"ab", 2}, {"\u0120", 3}}},
                                    {"special_tokens_map.json", {{"pad_token", "<x>"}}}});
  CHECK(lost_bytes(tokenizer, "") == 0);
  CHECK(lost_bytes(tokenizer, "ab a") == 0);
  CHECK(lost_bytes(tokenizer, "abc") == 1);
  CHECK(lost_bytes(tokenizer, "a\u65e5\u672c b\n") == 7);
  CHECK(lost_bytes(tokenizer, "a<x>b") == 0);
  CHECK(lost_bytes(tokenizer, "a<x>b", {.parse_special = false}) == 3);
  for (const std::string_view text : {"ab a", "abc", "a\u65e5\u672c b\n", "a<x>b"}) {
    CHECK(tokenizer.decode(tokenizer.encode(text)).size() ==
          text.size() - lost_bytes(tokenizer, text));
  }
}

TEST_CASE("lost bytes are those of the text, not of what the normalizer makes of it") {
  const json bpe = {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", json::array()}};
  const json longer = {
      {"type", "Replace"}, {"pattern", {{"String", "\u00e9"}}}, {"content", "e, acute"}};
  const Tokenizer tokenizer = load({{"tokenizer.json", {{"model", bpe}, {"normalizer", longer}}}});
  CHECK(lost_bytes(tokenizer, "\u00e9a") == 2);
  CHECK(lost_bytes(tokenizer, "a\u00e9b\u00e9\u00e9") == 7);
  CHECK(lost_bytes(tokenizer, "aaa") == 0);
}

TEST_CASE("a tokenizer.json cannot overflow the stack or fill memory") {
  const json bpe = {{"type", "BPE"}, {"vocab", {{"a", 0}}}, {"merges", json::array()}};
  const auto sequence_of = [](const json& step, std::size_t count, const char* key) {
    return json{{"type", "Sequence"}, {key, std::vector<json>(count, step)}};
  };
  const json metaspace = {{"type", "Metaspace"}, {"replacement", "\u2581"}};
  const Files deep = {
      {"tokenizer.json",
       {{"model", bpe}, {"pre_tokenizer", sequence_of(metaspace, 50000, "pretokenizers")}}}};
  check_refused([&] { load(deep); }, {"tokenizer.json", "pre_tokenizer", "16"},
                ErrorCode::unsupported);
  const auto replacing = [](const std::string& pattern, const std::string& content) {
    return json{{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
  };
  // To compare this with each place of a long text would take minutes.
  const Files slow = {
      {"tokenizer.json", {{"model", bpe}, {"normalizer", replacing(std::string(1025, 'a'), "")}}}};
  check_refused([&] { load(slow); }, {"tokenizer.json", "String", "1024"}, ErrorCode::unsupported);
  const json growing = replacing("a", std::string(1 << 18, 'a'));
  // Each further step doubles the text.
  json steps =
      sequence_of(replacing(std::string(1024, 'a'), std::string(2048, 'a')), 14, "normalizers");
  steps["normalizers"].insert(steps["normalizers"].begin(), growing);
  json file = {{"model", bpe}, {"normalizer", steps}};
  const Tokenizer bomb = load({{"tokenizer.json", file}});
  CHECK(bomb.encode("b").empty());
  check_bad_argument([&] { static_cast<void>(bomb.encode("a")); }, {"8 MiB", "damaged"});
  file["added_tokens"] = json::array({{{"id", 1}, {"content", "ba"}, {"normalized", true}}});
  const Files of_ba = {{"tokenizer.json", file}};
  check_refused([&] { load(of_ba); }, {"tokenizer.json", "token 'ba'", "8 MiB"});
  const Files longer = {
      {"tokenizer.json", {{"model", bpe}, {"decoder", sequence_of(growing, 12, "decoders")}}}};
  check_refused([&] { load(longer); }, {"tokenizer.json: decoder: content", "longer"},
                ErrorCode::unsupported);
}

TEST_CASE("bytes that become the unknown token count as lost, too") {
  json root = {
      {"model",
       {{"vocab", {{"a", 0}, {"?", 1}, {"cd", 2}}}, {"merges", json::array()}, {"unk_token", "?"}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}}}};
  CHECK(load({{"tokenizer.json", root}}).encode("acd") == std::vector<TokenId>{0, 1, 1});
  CHECK(lost_bytes(load({{"tokenizer.json", root}}), "acd") == 2);
  root["model"]["ignore_merges"] = true;  // then a word that equals a token becomes that token
  CHECK(lost_bytes(load({{"tokenizer.json", root}}), "cd") == 0);
}

TEST_CASE("added tokens need no embedding, because models are often not resized for them") {
  const Tokenizer tokenizer = load({{"vocab.json", vocabulary_of(100)},
                                    {"added_tokens.json", {{"[PAD]", 100}, {"<sep>", 101}}}});
  CHECK(tokenizer.size() == 102);
  CHECK_NOTHROW(require_match(tokenizer, 100));
  CHECK_THROWS_AS(require_match(tokenizer, 99), Error);
}

TEST_CASE("a model has an embedding for each token, and up to 1024 or as many again for padding") {
  const auto match = [](std::size_t tokens, std::size_t embeddings) {
    require_match(load({{"vocab.json", vocabulary_of(tokens)}}), embeddings);
  };
  CHECK_NOTHROW(match(3000, 3000));
  check_bad_argument([&] { match(3000, 2999); },
                     {"token 'A2999' has the id 2999", "ids below 2999"});
  CHECK_NOTHROW(match(21, 64));
  CHECK_NOTHROW(match(21, 1024));  // Megatron may pad to multiples of 1024
  CHECK_NOTHROW(match(2100, 4096));
  check_bad_argument([&] { match(300, 4096); }, {"300 ids", "embeddings for 4096"});
}

}  // namespace gpt2::test::tokenizer_limits_test
