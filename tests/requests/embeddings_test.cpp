// Tests requests for embeddings: the vectors of embed() with the length 1.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gpt2/embed.h"
#include "requests/answer/logprobs.h"
#include "support/catch.h"
#include "support/openai.h"
#include "support/requests.h"

namespace gpt2::test::requests_embeddings_test {

namespace {

Door of_stories() { return {stories()}; }

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

}  // namespace gpt2::test::requests_embeddings_test
