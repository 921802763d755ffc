// Runs gpt2 embed as a process and compares what it writes with what the library computes.
#include <nlohmann/json.hpp>

#include "gpt2/embed.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/command.h"

namespace gpt2::test::embed_test {

namespace {

const std::vector<std::string> kTexts = {"The cat sat down.", "One day", "A dog"};
const std::string kInput = "The cat sat down.\nOne day\nA dog\n";

Outcome embed(const Words& arguments, const std::string& input = kInput) {
  return run(joined_words({"embed"}, arguments), {.input = input});
}

std::vector<std::vector<float>> by_library(const EmbedOptions& options) {
  std::vector<std::vector<TokenId>> texts;
  for (const auto& text : kTexts) texts.push_back(bundled::tokenizer().encode(text));
  return gpt2::embed(Engine::shared(bundled::model()), texts, options);
}

void check(const Words& arguments, const EmbedOptions& options, const std::string& input = kInput) {
  CAPTURE(arguments);
  const Outcome outcome = embed(arguments, input);
  CHECK(outcome.err == "");
  CHECK(outcome.status == 0);
  const auto expected = by_library(options);
  const auto records = json_lines(outcome.out);
  REQUIRE(records.size() == expected.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].at("tokens") == bundled::tokenizer().encode(kTexts[i]).size());
    // The digits in the JSON stand for the exact float.
    CHECK(records[i].at("embedding").get<std::vector<float>>() == expected[i]);
  }
}

}  // namespace

TEST_CASE("embed writes the library's vectors as JSON") {
  check({}, {});
  check({"--pooling", "mean"}, {});
  check({"--pooling", "last"}, {.pooling = Pooling::last});
  check({"--layer", "0", "-t", "1"}, {.layer = 0});
  check({"--jsonl"}, {}, R"({"text": "The cat sat down."}
{"text": "One day"}
{"text": "A dog"})");
  std::string ids;
  for (const auto& text : kTexts) {
    for (const TokenId id : bundled::tokenizer().encode(text)) ids += std::to_string(id) + ' ';
    ids += '\n';
  }
  check({"--tokens"}, {}, ids);
  CHECK(embed({}, "").out == "");
}

TEST_CASE("a line that cannot be embedded becomes an error record") {
  std::string long_line;
  for (int i = 0; i < 600; ++i) long_line += "a ";
  const Outcome outcome = embed({}, "One day\n\n" + long_line + "\nA dog");
  CHECK(outcome.status == 1);
  CHECK(outcome.err.starts_with("gpt2: standard input: 2 of 4 lines failed"));
  const auto records = json_lines(outcome.out);
  REQUIRE(records.size() == 4);
  CHECK(records[0].at("tokens") == 2);
  CHECK(records[1].at("error") == "line 2: text: expected a text of 1 to 512 tokens, found 0");
  CHECK(records[2].at("error").get<std::string>().starts_with(
      "line 3: text: expected a text of 1 to 512 tokens, found "));
  CHECK(records[3].at("tokens") == 2);
}

TEST_CASE("embed refuses invalid arguments") {
  check_refused({"embed", "--pooling", "max"}, 2, {"--pooling", "mean or last", "'max'"});
  for (const std::string layer : {"7", "-1", "x"}) {
    check_refused({"embed", "--layer", layer}, 2, {"--layer: ", "from 0 to 6", layer});
  }
}

}  // namespace gpt2::test::embed_test
