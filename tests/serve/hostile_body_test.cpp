// Sends bodies to gpt2 serve that no client should send. Each must have an answer that says what is
// wrong, and the next request must be served as if nothing had been.

#include "serve/answers.h"
#include "support/is_slow.h"

namespace gpt2::test::hostile_body_test {

namespace {

const TestServer& server() {
  static const TestServer one(alphabet({"--max-body", "8388608"}));
  return one;
}

void check_refused(const HttpResponse& response, const std::string& message) {
  CAPTURE(response.body.substr(0, 1000));
  CHECK(response.status == 400);
  REQUIRE(response.is_complete);
  CHECK(check_error(response.json()).find(message) != std::string::npos);
  CHECK(response.body.size() < 2000);
}

}  // namespace

TEST_CASE("a request may not take the memory of all others") {
  const json many = {{"prompt", std::vector<std::string>(16, "a")}, {"n", 128}, {"max_tokens", 1}};
  json one = many;
  one["stop"] = std::string(40000, 'z');
  check_refused(server().post("/v1/completions", one), "bytes");
  one = many;
  one["bad_words_ids"] = std::vector<std::vector<int>>(4000, {7, 8});
  check_refused(server().post("/v1/completions", one), "bytes");
  one = json::parse(R"({"n": 128, "echo": true, "logprobs": 100, "max_tokens": 1000})");
  one["prompt"] = std::vector<int>(60, 7);
  check_refused(server().post("/v1/completions", one), "log-probabilities");
  check_serves(server());
}

TEST_CASE("the log-probabilities of a request are at most those that its context has room for") {
  json body = {{"prompt", "x"}, {"max_tokens", 100000}, {"logprobs", 20}, {"ignore_eos", true}};
  const HttpResponse full = server().post("/v1/completions", body);
  REQUIRE(full.status == 200);
  // The model takes 1,024 tokens: the prompt and all new ones but the last.
  CHECK(full.json()["usage"]["completion_tokens"] == 1024);
  const json chat = json::parse(R"({"messages": [{"role": "user", "content": "a"}],
      "max_tokens": 100000, "logprobs": true, "top_logprobs": 20})");
  CHECK(server().post("/v1/chat/completions", chat).status == 200);
  body.update({{"overflow", "slide"}, {"max_tokens", 1000000}});
  check_refused(server().post("/v1/completions", body), "log-probabilities");
}

// json_test has what is no JSON.
TEST_CASE("bodies that are not one JSON object") {
  const auto check = [](const std::string& path, const std::string& body) {
    CAPTURE(path, body.substr(0, 100));
    check_refused(server().connect().ask(http_request("POST", path, body)), "");
  };
  for (const std::string path : {"/v1/completions", "/v1/chat/completions", "/v1/responses",
                                 "/v1/embeddings", "/tokenize", "/detokenize", "/inspect"}) {
    for (const std::string& body :
         {std::string(), std::string("[]"), std::string(R"({"prompt":"a","max_tokens":1)"),
          std::string("{\"prompt\":\"a\xff\"}"), std::string("{\"prompt\":\"a\0\"}", 14)}) {
      check(path, body);
    }
  }
  const std::string deep(1000000, '[');
  std::string nested;
  for (int i = 0; i < 1000000; ++i) nested += "{\"a\":";
  check("/v1/completions", nested);
  check("/v1/completions", R"({"prompt":)" + deep + std::string(1000000, ']') + "}");
  check_serves(server());
}

TEST_CASE("a long name of a model, and texts that fill the body, have short answers") {
  const std::string mega(is_slow() ? 1000000 : 7000000, 'a');
  check_refused(server().post("/v1/completions", {{"prompt", mega}}), "tokens");
  const HttpResponse unknown = server().post("/v1/completions", {{"model", mega}});
  CHECK(unknown.status == 404);
  CHECK(unknown.body.size() < 2000);
  check_serves(server());
}

}  // namespace gpt2::test::hostile_body_test
