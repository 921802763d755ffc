// Sends bodies to gpt2 serve that no client should send. Each must have an answer that says what is
// wrong, and the next request must be served as if nothing had been.
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/option_fields.h"
#include "serve/hostile.h"
#include "serve/schema.h"
#include "support/catch.h"
#include "support/is_slow.h"
#include "support/test_server.h"

namespace gpt2::test::hostile_body_test {

using nlohmann::json;

namespace {

const TestServer& server() {
  static const TestServer one(alphabet({"--max-body", "8388608"}));
  return one;
}

HttpResponse post_text(const std::string& path, const std::string& body) {
  return server().connect().ask(http_request("POST", path, body));
}

const std::vector<std::string> kPosts = {
    "/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/embeddings",
    "/tokenize",       "/detokenize",          "/inspect"};

// A body that each endpoint accepts.
json valid_body(const std::string& path) {
  if (path == "/v1/completions") return {{"prompt", "a"}, {"max_tokens", 1}};
  if (path == "/v1/responses") return {{"input", "a"}, {"max_output_tokens", 1}};
  if (path == "/v1/embeddings") return {{"input", "a"}};
  if (path == "/tokenize" || path == "/inspect") return {{"prompt", "a"}};
  if (path == "/detokenize") return {{"tokens", {97}}};
  return {{"messages", {{{"role", "user"}, {"content", "a"}}}}, {"max_tokens", 1}};
}

std::vector<std::string> split(const std::string& words) {
  std::istringstream stream(words);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names = {"model", "prompt", "input", "tokens", "messages", "user"};
  if (path != "/v1/completions" && path != "/v1/chat/completions") {
    names.insert(names.end(), {"encoding_format", "dimensions", "pooling", "layer", "include",
                               "instructions", "text", "truncation", "stop", "stream"});
    return names;
  }
  const auto more =
      split(R"(n best_of echo suffix stream stream_options max_tokens max_length stop_strings
do_sample truncate max_completion_tokens top_logprobs tools tool_choice
functions function_call audio response_format metadata)");
  names.insert(names.end(), more.begin(), more.end());
  const auto add = [&](const auto& field) { names.emplace_back(field.name); };
  gpt2::for_each_sampling_field(add);
  gpt2::for_each_generation_field(add);
  gpt2::for_each_beam_field(add);
  return names;
}

// Values of every type, as texts, because json cannot hold all of them.
const std::vector<std::string> kValues =
    split(R"(null true false 0 1 -1 1.5 -0.0 1e-400 1e308 -1e308 1e999 18446744073709551615
18446744073709551616 -9223372036854775809 "" "x" "\u0000" "\ud83d\ude00" [] {} [[]] [{}]
[null] [1] [-1] [1.5] [999999999999] ["a",1] [["a"]] [[1],[2]] [[1,2,3]] {"a":1}
{"1":1e999} {"1":"a"} {"-1":1} {"99999":1} [[[1],1e999]] [[[1],null]] [1,"a"] [0,0]
[1e308,1e308])");

// Checks that an answer is right or refuses the request as a mistake of the client.
void check_answer(const HttpResponse& response) {
  CAPTURE(response.body);
  CHECK(response.is_complete);
  if (response.status == 200) return;
  CHECK((response.status == 400 || response.status == 404));
  const std::string message = check_error(response.json());
  CHECK(!message.empty());
  CHECK(message.find('\n') == message.npos);
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
  one = {{"prompt", std::vector<int>(60, 7)},
         {"n", 128},
         {"echo", true},
         {"logprobs", 100},
         {"max_tokens", 1000}};
  check_refused(server().post("/v1/completions", one), "log-probabilities");
  check_serves(server());
}

TEST_CASE("the log-probabilities of a request are at most those that its context has room for") {
  json body = {{"prompt", "x"}, {"max_tokens", 100000}, {"logprobs", 20}, {"ignore_eos", true}};
  const HttpResponse full = server().post("/v1/completions", body);
  REQUIRE(full.status == 200);
  // The model takes 1,024 tokens: the prompt and all new ones but the last.
  CHECK(full.json()["usage"]["completion_tokens"] == 1024);
  json chat = valid_body("/v1/chat/completions");
  chat.update({{"max_tokens", 100000}, {"logprobs", true}, {"top_logprobs", 20}});
  CHECK(server().post("/v1/chat/completions", chat).status == 200);
  body.update({{"overflow", "slide"}, {"max_tokens", 1000000}});
  check_refused(server().post("/v1/completions", body), "log-probabilities");
}

TEST_CASE("values of every type in every field of every endpoint") {
  const std::size_t step = is_slow() ? 3 : 1;
  std::size_t first = 0;  // other values in each field
  for (const std::string& path : kPosts) {
    HttpClient client = server().connect();
    for (const std::string& name : names_of(path)) {
      for (std::size_t i = first++ % step; i < kValues.size(); i += step) {
        const std::string& value = kValues[i];
        CAPTURE(path, name, value);
        json body = valid_body(path);
        body.erase(name);
        std::string text = body.dump();
        text.insert(1, "\"" + name + "\":" + value + (body.empty() ? "" : ","));
        check_answer(client.ask(http_request("POST", path, text)));
      }
    }
    check_serves(server());
  }
}

TEST_CASE("bodies that are not one JSON object") {
  const std::string deep(1000000, '[');
  std::string nested;
  for (int i = 0; i < 1000000; ++i) nested += "{\"a\":";
  const std::string truncated = R"({"prompt":"a","max_tokens":1)";
  std::vector<std::string> bodies = {"",
                                     " \t",
                                     "5",
                                     "[]",
                                     "\"a\"",
                                     "{",
                                     "{} x",
                                     R"({"prompt":"a)",
                                     R"({"prompt":NaN})",
                                     R"({"prompt":"a","prompt":"b"})",
                                     "{\"prompt\":\"a\xff\"}",
                                     "{\"prompt\":\"\xed\xa0\x80\"}",
                                     R"({"prompt":"\ud800"})",
                                     std::string("{\"prompt\":\"a\0\"}", 14),
                                     deep,
                                     nested,
                                     R"({"prompt":)" + deep,
                                     R"({"prompt":)" + deep + std::string(1000000, ']') + "}"};
  for (std::size_t size = 1; size < truncated.size(); ++size) {
    bodies.push_back(truncated.substr(0, size));
  }
  for (const std::string& path : kPosts) {
    for (const std::string& body : bodies) {
      CAPTURE(path, body.substr(0, 100));
      check_refused(post_text(path, body), "");
    }
  }
  check_serves(server());
}

TEST_CASE("long names, long texts and long lists have short answers") {
  const std::size_t many = is_slow() ? 1000000 : 7000000;
  const std::string mega(many, 'a');
  const std::vector<std::pair<json, std::string>> completions = {
      {{{"prompt", "a"}, {mega, 1}}, "unknown key"},
      {{{"prompt", "a"}, {"stop", json{{"a", mega}}}}, "stop"},
      {{{"prompt", mega}}, "tokens"},
      {{{"prompt", std::vector<int>(2000000, 97)}}, "tokens"},
      {{{"prompt", std::vector<std::string>(2049, "a")}}, "2048"},
      {{{"prompt", std::vector<std::string>(2048, "a")}, {"n", 128}}, "divide it"},
      {{{"prompt", "a"}, {"stop", std::vector<std::string>(1000000, "zq")}}, "1000000"}};
  for (const auto& [body, fact] : completions) {
    check_refused(server().post("/v1/completions", body), fact);
  }
  check_refused(
      post_text("/v1/completions", R"({"prompt":"a","seed":)" + std::string(100000, '9') + "}"),
      "");
  const HttpResponse unknown = server().post("/v1/completions", {{"model", mega}});
  CHECK(unknown.status == 404);
  CHECK(unknown.body.size() < 2000);
  check_serves(server());
}

}  // namespace gpt2::test::hostile_body_test
