// Tests what the errors of gpt2 serve say to a program, beside their message: "param" and "code",
// as OpenAI's API does.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "serve/hostile.h"
#include "serve/schema.h"
#include "support/catch.h"
#include "support/test_server.h"

namespace gpt2::test::errors_test {

using nlohmann::json;

namespace {

const TestServer& server() {
  static const TestServer one(alphabet());
  return one;
}

json error_of(const std::string& path, const json& body) {
  const HttpResponse response = server().post(path, body);
  CAPTURE(path, body.dump().substr(0, 200), response.body);
  CHECK(response.status == 400);
  check_error(response.json());
  CHECK(response.json()["error"]["type"] == "invalid_request_error");
  return response.json()["error"];
}

json message(const json& members) { return {{"messages", json::array({members})}}; }

}  // namespace

TEST_CASE("errors name the member with the mistake, and its kind, as OpenAI's do") {
  const std::string completions = "/v1/completions", chat = "/v1/chat/completions",
                    embeddings = "/v1/embeddings";
  const std::string missing = "missing_required_parameter", unknown = "unknown_parameter",
                    too_long = "context_length_exceeded";
  const json hello = {{"role", "user"}, {"content", "Hello"}};
  json two = message(hello);
  two["messages"].push_back({{"role", "user"}});
  const std::string text(1025, 'a');  // the model takes 1,024 tokens
  const std::string name(199, 'x');   // a longer name is cut between two characters
  const std::vector<std::tuple<std::string, json, json, json>> cases = {
      {completions, json::object(), "prompt", missing},
      {chat, json::object(), "messages", missing},
      {embeddings, json::object(), "input", missing},
      {"/tokenize", json::object(), "prompt", missing},
      {"/detokenize", json::object(), "tokens", missing},
      {chat, {{"messages", "hi"}}, "messages", nullptr},
      {chat, message({{"role", "user"}}), "messages[0].content", missing},
      {chat, message({{"content", "a"}}), "messages[0].role", missing},
      {chat, two, "messages[1].content", missing},
      {chat, message({{"role", "king"}, {"content", "a"}}), "messages[0].role", nullptr},
      {chat, message({{"role", "user"}, {"content", 5}}), "messages[0].content", nullptr},
      {chat, message({{"role", "user"}, {"content", "a"}, {"mood", 1}}), "messages[0].mood",
       unknown},
      {chat, message({{"role", "user"}, {"content", text}}), "messages", too_long},
      {completions, {{"prompt", "a"}, {"warmth", 1}}, "warmth", unknown},
      {completions, {{"prompt", "a"}, {name + "\xc3\xa9", 1}}, name, unknown},
      {completions,
       {{"prompt", "a"}, {"max_completion_tokens", 1}},
       "max_completion_tokens",
       unknown},
      {completions,
       {{"prompt", "a"}, {"stream", true}, {"stream_options", {{"usage", 1}}}},
       "stream_options.usage",
       unknown},
      {completions, {{"prompt", "a"}, {"temperature", "hot"}}, "temperature", nullptr},
      {completions, {{"prompt", {1, -1}}}, "prompt[1]", nullptr},
      {completions, {{"prompt", {"a", text}}}, "prompt", too_long},
      {completions,
       {{"prompt", std::vector<std::string>(2000, "a")}, {"n", 128}},
       nullptr,
       nullptr},
      {completions, {{"prompt", "a"}, {"n", 0}}, "n", nullptr},
      {completions, {{"prompt", "a"}, {"n", 1}, {"num_return_sequences", 2}}, "n", nullptr},
      {embeddings, {{"input", "a"}, {"temperature", 1}}, "temperature", unknown},
      {embeddings, {{"input", {"a", "b", ""}}}, "input[2]", nullptr},
      {embeddings, {{"input", {"a", text}}}, "input[1]", too_long},
      {"/inspect", {{"prompt", text}}, "prompt", too_long}};
  for (const auto& [path, body, param, code] : cases) {
    const json error = error_of(path, body);
    CAPTURE(error);
    CHECK(error["param"] == param);
    CHECK(error["code"] == code);
  }
}

TEST_CASE("errors of the library name the member, too") {
  const json hello = message({{"role", "user"}, {"content", "Hello"}});
  const std::vector<std::pair<json, std::string>> cases = {
      {{{"logit_bias", {{"300", 1}}}}, "logit_bias"},
      {{{"forced_bos_token_id", 300}}, "forced_bos_token_id"},
      {{{"forced_eos_token_id", {300}}}, "forced_eos_token_id"},
      {{{"bad_words_ids", {{300}}}}, "bad_words_ids"},
      {{{"suppress_tokens", {300}}}, "suppress_tokens"},
      {{{"sequence_bias", json::array({{{300}, 1.5}})}}, "sequence_bias"},
      {{{"max_length", 1}}, "max_length"}};
  for (const auto& [members, param] : cases) {
    for (const auto& [path, valid] : {std::pair("/v1/completions", json{{"prompt", "a"}}),
                                      std::pair("/v1/chat/completions", hello)}) {
      json body = valid;
      body.update(members);
      CHECK(error_of(path, body)["param"] == param);
    }
  }
}

TEST_CASE("stream_options need a stream, as in OpenAI's API") {
  json body = {{"prompt", "a"}, {"max_tokens", 1}, {"stream_options", {{"include_usage", true}}}};
  for (const json& stream : {json(nullptr), json(false)}) {
    body["stream"] = stream;
    CHECK(error_of("/v1/completions", body)["param"] == "stream_options");
  }
  body["stream_options"] = nullptr;
  CHECK(server().post("/v1/completions", body).status == 200);
}

TEST_CASE("what cannot be together, or needs something else, is refused by name") {
  const json beams = {{"prompt", "a"}, {"num_beams", 2}};
  const auto refused = [](json body, const std::string& name, const json& value,
                          const std::string& fact) {
    body[name] = value;
    const std::string text = error_of("/v1/completions", body)["message"];
    CAPTURE(text);
    CHECK(text.find(name) != text.npos);
    CHECK(text.find(fact) != text.npos);
  };
  for (const auto& [name, value] : std::vector<std::pair<std::string, json>>{{"temperature", 0},
                                                                             {"top_k", 3},
                                                                             {"top_p", 0.5},
                                                                             {"min_p", 0.5},
                                                                             {"seed", 1},
                                                                             {"do_sample", true},
                                                                             {"overflow", "slide"},
                                                                             {"stream", true},
                                                                             {"stop", "."},
                                                                             {"logprobs", 1},
                                                                             {"best_of", 2}}) {
    refused(beams, name, value, "num_beams");
  }
  refused(beams, "max_tokens", 0, "max_tokens");
  for (const std::string name : {"n", "num_return_sequences"}) {
    refused(beams, name, 3, "num_beams");
    refused({{"prompt", "a"}, {"best_of", 2}}, name, 3, "best_of");
  }
  for (const std::string name : {"length_penalty", "early_stopping"}) {
    refused({{"prompt", "a"}, {"num_beams", 1}}, name, 1.0, name);
    refused({{"prompt", "a"}}, name, 1.0, name);
  }
  for (const json& more : {json{{"num_beams", 2}, {"do_sample", false}},
                           json{{"num_beams", 2}, {"temperature", nullptr}},
                           json{{"length_penalty", nullptr}}, json{{"pad_token_id", 7}}}) {
    json body = {{"prompt", "a"}, {"max_tokens", 1}};
    body.update(more);
    CHECK(server().post("/v1/completions", body).status == 200);
  }
}

}  // namespace gpt2::test::errors_test
