// Tests requests that write no text: the numbers of scores and choices are those of score(),
// perplexity() and score_choices(), embeddings are the vectors of embed() with the length 1, and
// tokens are those of the tokenizer.

#include "gpt2/embed.h"
#include "gpt2/score.h"
#include "requests/answer/numbers.h"
#include "support/openai.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_text_requests_test {

namespace {

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

namespace {

json choices_of(const json& body, const Door& door = of_stories()) {
  return answer("choices", body, door);
}

}  // namespace

TEST_CASE("choices have the numbers of the library") {
  const std::vector<std::string> texts = {" moon", " time", " time, there was"};
  const std::vector<TokenId> context = stories().ids("Once upon a");
  std::vector<std::vector<TokenId>> ids;
  for (const std::string& text : texts) ids.push_back(stories().ids(text));
  const ChoiceQuestion question = {context, ids};
  const auto expected = score_choices(stories().engine, {&question, 1}, 2).front();
  const json found = choices_of({{"context", "Once upon a"}, {"choices", texts}, {"logprobs", 2}});
  CHECK(choices_of({{"context", context}, {"choices", ids}, {"logprobs", 2}}) == found);
  CHECK(found["best"] == 1);
  REQUIRE(found["choices"].size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const json& choice = found["choices"][i];
    CHECK(choice["tokens"] == ids[i].size());
    CHECK(choice["logprob"] == expected[i].sum);
    CHECK(choice["logprob_per_token"] == expected[i].mean);
    CHECK(choice["logprob_per_byte"] == expected[i].sum / static_cast<double>(texts[i].size()));
    CHECK(choice["greedy_match"] == expected[i].greedy_match);
    REQUIRE(choice["logprobs"].size() == ids[i].size());
    CHECK(choice["logprobs"][0]["id"] == ids[i][0]);
    CHECK(choice["logprobs"][0]["logprob"].get<float>() == expected[i].tokens[0].logprob);
    CHECK(choice["logprobs"][0]["top"].size() == 2);
  }
  CHECK(found["choices"][1]["greedy_match"] == true);
  CHECK(found["choices"][0]["greedy_match"] == false);
  const json plain = choices_of({{"context", "Once upon a"}, {"choices", texts}});
  CHECK_FALSE(plain["choices"][0].contains("logprobs"));
}

TEST_CASE("the best choice by token or byte may be another than the best one") {
  // The alphabet model continues a with b, so the log-probability of "bcd" is nearly 0 and that of
  // "z" is not. A longer choice with one unlikely byte has a lower sum, but a higher mean.
  const json found = choices_of({{"context", "a"}, {"choices", {"z", "bcdefghijklx", "qr"}}}, {});
  CHECK(found["best"] != 1);
  CHECK(found["best_per_token"] == 1);
  CHECK(found["best_per_byte"] == 1);
  CHECK(found["choices"][1]["tokens"] == 12);
}

TEST_CASE("a context may begin with the end-of-text token, or be that token alone") {
  const json body = {{"context", ""}, {"choices", {"Once", " sky"}}};
  const json found = choices_of(with(body, {{"add_bos", true}}));
  CHECK(found["best"] == 0);
  CHECK(found == choices_of(with(body, {{"context", "<|endoftext|>"}})));
  CHECK_FALSE(refusal("choices", body, of_stories()).is_null());
}

TEST_CASE("without a tokenizer, no number is by byte") {
  const json found =
      choices_of({{"context", {97}}, {"choices", {{98}, {97}}}}, {alphabet_of_ids()});
  CHECK(found["best"] == 0);
  CHECK_FALSE(found.contains("best_per_byte"));
  check_shape(found["choices"][0],
              "tokens:integer logprob:number logprob_per_token:number greedy_match:boolean");
}

TEST_CASE("wrong questions are refused by name") {
  check_refusals("choices", "",
                 {{R"("choices": [" a"])", "context", kMissing},
                  {R"("context": "a")", "choices", kMissing},
                  {R"("context": 5, "choices": ["b"])", "context"},
                  {R"("context": [300], "choices": ["b"])", "context[0]"},
                  {R"("context": "a", "choices": " b")", "choices"},
                  {R"("context": "a", "choices": [])", "choices"},
                  {R"("context": "a", "choices": [null])", "choices[0]"},
                  {R"("context": "a", "choices": ["b", [97, -1]])", "choices[1][1]"},
                  {R"("context": "a", "choices": ["b", ""])", {}},
                  {R"("context": "", "choices": ["b"])", {}}});
  check_refusals("choices", R"("context": "a", "choices": ["b"])",
                 {{R"("logprobs": 101)", "logprobs"},
                  {R"("add_bos": "yes")", "add_bos"},
                  {R"("texts": "a")", "texts", kUnknown},
                  {R"("stride": 2)", "stride", kUnknown}});
  const json long_choice = {{"context", "a"}, {"choices", {std::string(65, 'a')}}};
  const std::string message = refusal("choices", long_choice)["message"];
  for (const char* const fact : {"choice 1", "66", "65"}) {
    CHECK(message.find(fact) != message.npos);
  }
}

namespace {

json embeddings(const json& body) {
  const json found = answer("embeddings", body, of_stories());
  check_shape(found, "object:string data:array model:string usage:object");
  CHECK(found["object"] == "list");
  CHECK(found["model"] == "m");
  check_shape(found["usage"], "prompt_tokens:integer total_tokens:integer");
  CHECK(found["usage"]["prompt_tokens"] == found["usage"]["total_tokens"]);
  for (std::size_t i = 0; i < found["data"].size(); ++i) {
    check_shape(found["data"][i], "object:string index:integer embedding:array|string");
    CHECK(found["data"][i]["object"] == "embedding");
    CHECK(found["data"][i]["index"] == i);
  }
  return found;
}

// Checks a vector against the library's, divided by its length.
void check_near(const json& found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  double square = 0.0, worst = 0.0;
  for (const double number : expected) square += number * number;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double number = expected[i] / std::sqrt(square);
    worst = std::max(worst, std::abs(found[i].get<double>() - number));
  }
  // The elements of a vector of length 1 are at most 1, and a float has a relative error of 2^-24.
  CHECK(worst <= 0x1p-24);
}

}  // namespace

TEST_CASE("embeddings are those of the library with the length 1") {
  const std::vector<std::string> texts = {"The cat sat down.", "One day", "caf\u00e9"};
  std::vector<std::vector<TokenId>> ids;
  for (const std::string& text : texts) ids.push_back(stories().ids(text));
  const std::vector<std::pair<json, EmbedOptions>> cases = {
      {json::object(), {}},
      {{{"pooling", "last"}}, {.pooling = Pooling::last}},
      {{{"layer", 2}, {"pooling", "mean"}}, {.layer = 2}},
      {{{"encoding_format", "float"}, {"user", {1}}, {"dimensions", 256}, {"model", "any"}}, {}}};
  for (const auto& [more, options] : cases) {
    CAPTURE(more);
    json body = with({{"input", texts}}, more);
    const json found = embeddings(body);
    const auto expected = embed(stories().engine, ids, options);
    REQUIRE(found["data"].size() == 3);
    for (std::size_t i = 0; i < 3; ++i) check_near(found["data"][i]["embedding"], expected[i]);
    body["encoding_format"] = "base64";
    const json encoded = embeddings(body);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto floats = found["data"][i]["embedding"].get<std::vector<float>>();
      std::string bytes(4 * floats.size(), '\0');
      std::memcpy(bytes.data(), floats.data(), bytes.size());
      CHECK(encoded["data"][i]["embedding"] == base64(bytes));
    }
  }
}

TEST_CASE("base64 is that of RFC 4648") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("\xfb\xff\xbf") == "+/+/");
}

TEST_CASE("the input is a text, token ids, or a list of these") {
  const std::string text = "The cat sat down.";
  const auto ids = stories().ids(text);
  const json one = embeddings({{"input", text}});
  CHECK(one["usage"]["prompt_tokens"] == ids.size());
  CHECK(one["data"].size() == 1);
  for (const json& input : {json(ids), json{text}, json::array({ids})}) {
    CHECK(embeddings({{"input", input}})["data"] == one["data"]);
  }
  const json two = embeddings({{"input", json::array({ids, text})}});
  CHECK(two["data"][1]["embedding"] == one["data"][0]["embedding"]);
  CHECK(two["usage"]["prompt_tokens"] == 2 * ids.size());
  const auto tokens = [](const json& more) {
    return embeddings(with({{"input", "<|endoftext|>"}}, more))["usage"]["prompt_tokens"];
  };
  CHECK(tokens({}) == 1);
  CHECK(tokens({{"split_special_tokens", true}}) > 1);
}

TEST_CASE("errors of embeddings name the member and the text") {
  const std::string long_text = "\"" + std::string(65, 'a') + "\"";
  check_refusals("embeddings", "",
                 {{"", "input", kMissing},
                  {R"("input": "")", "input"},
                  {R"("input": 5)", "input"},
                  {R"("input": [])", "input"},
                  {R"("input": [[97], [300]])", "input[1][0]"},
                  {R"("input": ["a", "b", ""])", "input[2]"},
                  {R"("input": )" + long_text, "input", kTooLong},
                  {R"("input": ["a", )" + long_text + "]", "input[1]", kTooLong}});
  check_refusals("embeddings", R"("input": "a")",
                 {{R"("dimensions": 128)", "dimensions"},
                  {R"("encoding_format": "hex")", "encoding_format"},
                  {R"("pooling": "max")", "pooling"},
                  {R"("layer": 2)", "layer"},
                  {R"("layer": -1)", "layer"},
                  {R"("temperature": 1)", "temperature", kUnknown}});
  check_refusals("embeddings", "", {{R"("input": "a")", "input"}}, {alphabet_of_ids()});
}

TEST_CASE("a text becomes its tokens, with their places in it, and tokens become a text") {
  const std::string text = "The caf\u00e9 \u2603";
  const auto ids = stories().ids(text);
  const json found = {{"tokens", ids}, {"count", ids.size()}, {"max_model_len", 512}};
  CHECK(answer("tokenize", {{"prompt", text}}, of_stories()) == found);
  CHECK(answer("detokenize", {{"tokens", ids}}, of_stories()) == json{{"prompt", text}});
  const json places = answer("tokenize", {{"prompt", "a\u00e9"}, {"offsets", true}})["offsets"];
  CHECK(places == json{{0, 1}, {1, 2}, {2, 3}});
  const Door only_ids = {alphabet_of_ids()};
  CHECK(answer("tokenize", {{"prompt", {97, 98}}}, only_ids)["count"] == 2);
  check_refusals("tokenize", "",
                 {{"", "prompt", kMissing},
                  {R"("prompt": "a", "x": 1)", "x", kUnknown},
                  {R"("prompt": [97], "offsets": true)", "offsets"}});
  check_refusals("detokenize", "",
                 {{"", "tokens", kMissing},
                  {R"("tokens": [257])", "tokens[0]"},
                  {R"("tokens": [97], "x": 1)", "x", kUnknown}});
  check_refusals("tokenize", "", {{R"("prompt": "a")", "prompt"}}, only_ids);
  check_refusals("detokenize", "", {{R"("tokens": [97])", "tokens"}}, only_ids);
}

}  // namespace gpt2::test::requests_text_requests_test
