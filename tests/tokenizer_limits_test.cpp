// What a tokenizer cannot do: spell some text, go with some model.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpt2/error.h"
#include "gpt2/tokenizer.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"
#include "support/tokenizer_cases.h"

using namespace gpt2;
using nlohmann::json;

namespace {

using Files = std::map<std::string, json>;

Tokenizer load(const Files& files, const std::string& merges = "a b\n") {
  const test::TemporaryDirectory folder;
  folder.write("merges.txt", merges);
  for (const auto& [name, content] : files) folder.write(name, content.dump());
  return Tokenizer::load(folder.path());
}

}  // namespace

TEST_CASE("bytes that no token stands for are counted") {
  const Tokenizer tokenizer = load({{"vocab.json", {{"a", 0}, {"b", 1}, {"ab", 2}, {"\u0120", 3}}},
                                    {"special_tokens_map.json", {{"pad_token", "<x>"}}}});
  CHECK(tokenizer.unencodable_bytes("") == 0);
  CHECK(tokenizer.unencodable_bytes("ab a") == 0);
  CHECK(tokenizer.unencodable_bytes("abc") == 1);
  CHECK(tokenizer.unencodable_bytes("a\u65e5\u672c b\n") == 7);
  CHECK(tokenizer.unencodable_bytes("a<x>b") == 0);
  CHECK(tokenizer.unencodable_bytes("a<x>b", {.parse_special = false}) == 3);
  for (const std::string_view text : {"ab a", "abc", "a\u65e5\u672c b\n", "a<x>b"}) {
    CHECK(tokenizer.decode(tokenizer.encode(text)).size() ==
          text.size() - tokenizer.unencodable_bytes(text));
  }
}

TEST_CASE("a tokenizer of all bytes leaves none out") {
  const Tokenizer tokenizer = Tokenizer::load(test::tokenizer_data("small"));
  CHECK(tokenizer.unencodable_bytes("Zebra \u65e5\u672c \xff\n") == 0);
}

TEST_CASE("bytes that become the unknown token are not spelled either") {
  json root = {
      {"model",
       {{"vocab", {{"a", 0}, {"?", 1}, {"cd", 2}}}, {"merges", json::array()}, {"unk_token", "?"}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}}}};
  CHECK(load({{"tokenizer.json", root}}).encode("acd") == std::vector<TokenId>{0, 1, 1});
  CHECK(load({{"tokenizer.json", root}}).unencodable_bytes("acd") == 2);
  root["model"]["ignore_merges"] = true;  // then a word that is a token is that token
  CHECK(load({{"tokenizer.json", root}}).unencodable_bytes("cd") == 0);
}
