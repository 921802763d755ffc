// Tests requests to score texts: the numbers are those of score() and perplexity().
#include <cmath>
#include <string>
#include <vector>

#include "gpt2/score.h"
#include "support/catch.h"
#include "support/openai.h"
#include "support/requests.h"

namespace gpt2::test::requests_score_test {

namespace {

Door of_stories() { return {stories()}; }
const std::string kText =
    "Once upon a time there was a cat. The cat was very happy.\n"
    "One day, the cat saw a big dog. The dog said, \"Hello, cat!\"";

json score_of(const json& body, const Door& door = of_stories()) {
  return answer("score", body, door);
}

struct Scored {
  std::vector<std::vector<TokenId>> ids;
  std::vector<TextScore> scores;
  Perplexity perplexity;
};

Scored by_library(const std::vector<std::string>& texts, const ScoreOptions& options = {}) {
  Scored found;
  for (const std::string& text : texts) found.ids.push_back(stories().ids(text));
  found.scores = score(stories().engine, found.ids, options);
  found.perplexity = perplexity(found.scores, found.ids, *stories().tokenizer);
  return found;
}

void check_record(const json& record, const Perplexity& expected) {
  CAPTURE(record.dump());
  CHECK(record.at("tokens") == expected.tokens);
  CHECK(record.at("words") == expected.words);
  CHECK(record.at("bytes") == expected.bytes);
  CHECK(record.at("windows") == expected.windows);
  CHECK(record.at("logprob") == -expected.nll);
  const auto check = [&](const std::string& name, const Estimate& number) {
    CHECK(record.at(name) == number.value);
    const json& error = record.at(name + "_error");
    CHECK((std::isnan(number.standard_error) ? error.is_null() : error == number.standard_error));
  };
  check("perplexity", expected.by_token);
  check("word_perplexity", expected.by_word);
  check("byte_perplexity", expected.by_byte);
  check("bits_per_byte", expected.bits_per_byte);
  CHECK(record.at("hf_weighted_perplexity") == expected.hf_weighted);
  CHECK(record.at("hf_unweighted_perplexity") == expected.hf_unweighted);
}

void check_token(const json& token, TokenId id, const TokenLogprob& expected) {
  CHECK(token.at("id") == id);
  CHECK(token.at("text") == stories().tokenizer->bytes(id));
  REQUIRE(token.at("top").size() == expected.top.size());
  if (std::isnan(expected.logprob)) {  // nothing predicts it
    CHECK(token.at("logprob").is_null());
    CHECK(token.at("rank").is_null());
    return;
  }
  CHECK(token.at("logprob").get<float>() == expected.logprob);
  CHECK(token.at("rank") == expected.rank);
  for (std::size_t i = 0; i < expected.top.size(); ++i) {
    CHECK(token.at("top")[i].at("id") == expected.top[i].id);
    CHECK(token.at("top")[i].at("logprob").get<float>() == expected.top[i].logprob);
  }
}

}  // namespace

TEST_CASE("scores are those of the library, with its windows") {
  const json found = score_of({{"texts", kText}, {"context", 16}, {"stride", 5}});
  const Scored expected = by_library({kText}, {.context = 16, .stride = 5});
  check_record(found, expected.perplexity);
  CHECK(found["context"] == 16);
  CHECK(found["stride"] == 5);
  CHECK(found["windows"] > 2);
  const json plain = score_of({{"texts", kText}});
  check_record(plain, by_library({kText}).perplexity);
  CHECK(plain["context"] == 512);
  CHECK(plain["stride"] == 256);
  REQUIRE(plain["texts"].size() == 1);
  check_record(plain["texts"][0], by_library({kText}).perplexity);
  CHECK_FALSE(plain["texts"][0].contains("logprobs"));
}

TEST_CASE("a list of texts has numbers of all together and of each") {
  const std::vector<std::string> texts = {"The cat sat", kText, "One day"};
  for (const json& given : {json(texts), json{texts[0], texts[1], stories().ids(texts[2])}}) {
    const json found = score_of({{"texts", given}});
    check_record(found, by_library(texts).perplexity);
    REQUIRE(found["texts"].size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      check_record(found["texts"][i], by_library({texts[i]}).perplexity);
    }
  }
}

TEST_CASE("log-probabilities of each token, with the likeliest ones") {
  for (const std::size_t top : {0u, 3u}) {
    const Scored expected = by_library({kText}, {.top_logprobs = top});
    const json tokens = score_of({{"texts", kText}, {"logprobs", top}})["texts"][0]["logprobs"];
    REQUIRE(tokens.size() == expected.ids[0].size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      check_token(tokens[i], expected.ids[0][i], expected.scores[0].tokens[i]);
    }
  }
}

TEST_CASE("add_bos scores the first token, too, and counts the bytes of the text alone") {
  const json found = score_of({{"texts", kText}, {"add_bos", true}});
  const Scored expected = by_library({"<|endoftext|>" + kText});
  CHECK(found["tokens"] == stories().ids(kText).size());
  CHECK(found["bytes"] == kText.size());
  CHECK(found["words"] == 26);
  CHECK(found["logprob"] == -expected.perplexity.nll);
  CHECK(score_of({{"texts", "a"}, {"add_bos", true}})["tokens"] == 1);
  CHECK(score_of({{"texts", kText}, {"add_bos", false}}) == score_of({{"texts", kText}}));
}

TEST_CASE("without a tokenizer, nothing is counted by word or byte") {
  const Door ids = {alphabet_of_ids()};
  const json found = score_of({{"texts", {97, 98, 99}}, {"logprobs", 1}}, ids);
  CHECK(found["tokens"] == 2);
  CHECK(found["word_perplexity"].is_null());
  CHECK(found["bits_per_byte"].is_null());
  const json& token = found["texts"][0]["logprobs"][1];
  check_shape(token, "id:integer logprob:number rank:integer top:array");
  CHECK(token["id"] == 98);
  CHECK(token["rank"] == 0);  // b follows a
  CHECK(token["top"][0]["id"] == 98);
}

TEST_CASE("wrong requests to score are refused by name") {
  check_refusals("score", "",
                 {{"", "texts", kMissing},
                  {R"("texts": 5)", "texts"},
                  {R"("texts": [])", "texts"},
                  {R"("texts": [97, 300])", "texts[1]"},
                  {R"("texts": [[97, 98], [98, 2.5]])", "texts[1][1]"},
                  {R"("texts": ["ab", null])", "texts[1]"}});
  check_refusals("score", R"("texts": "abc")",
                 {{R"("context": 1)", "context"},
                  {R"("context": 65)", "context"},
                  {R"("stride": 0)", "stride"},
                  {R"("stride": 65)", "stride"},
                  {R"("context": 9, "stride": 10)", "stride"},
                  {R"("logprobs": 101)", "logprobs"},
                  {R"("logprobs": true)", "logprobs"},
                  {R"("add_bos": 1)", "add_bos"},
                  {R"("split_special_tokens": 1)", "split_special_tokens"},
                  {R"("choices": ["a"])", "choices", kUnknown},
                  {R"("temperature": 1)", "temperature", kUnknown}});
}

}  // namespace gpt2::test::requests_score_test
