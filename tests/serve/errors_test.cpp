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
  const std::string missing = "missing_required_parameter", unknown = "unknown_parameter";
  const json hello = {{"role", "user"}, {"content", "Hello"}};
  json two = message(hello);
  two["messages"].push_back({{"role", "user"}});
  const std::vector<std::tuple<std::string, json, json, json>> cases = {
      {completions, json::object(), "prompt", missing},
      {chat, json::object(), "messages", missing},
      {embeddings, json::object(), "input", missing},
      {"/tokenize", json::object(), "prompt", missing},
      {"/detokenize", json::object(), "tokens", missing},
      {chat, message({{"role", "user"}}), "messages[0].content", missing},
      {chat, message({{"content", "a"}}), "messages[0].role", missing},
      {chat, two, "messages[1].content", missing},
      {chat, message({{"role", "king"}, {"content", "a"}}), "messages[0].role", nullptr},
      {chat, message({{"role", 1}, {"content", "a"}}), "messages[0].role", nullptr},
      {chat, message({{"role", "user"}, {"content", 5}}), "messages[0].content", nullptr},
      {chat, message({{"role", "user"}, {"content", "a"}, {"mood", 1}}), "messages[0].mood",
       unknown},
      {completions, {{"prompt", "a"}, {"warmth", 1}}, "warmth", unknown},
      {completions, {{"prompt", "a"}, {"temprature", 1}}, "temprature", unknown},
      {completions,
       {{"prompt", "a"}, {"stream", true}, {"stream_options", {{"usage", 1}}}},
       "stream_options.usage",
       unknown},
      {embeddings, {{"input", "a"}, {"temperature", 1}}, "temperature", unknown},
      {completions,
       {{"prompt", "a"}, {"max_completion_tokens", 1}},
       "max_completion_tokens",
       unknown},
      {completions, {{"prompt", "a"}, {"temperature", "hot"}}, "temperature", nullptr},
      {completions, {{"prompt", {1, -1}}}, "prompt[1]", nullptr}};
  for (const auto& [path, body, param, code] : cases) {
    const json error = error_of(path, body);
    CAPTURE(error);
    CHECK(error["param"] == param);
    CHECK(error["code"] == code);
  }
}

TEST_CASE("a name that is too long is cut between two characters") {
  const std::string begin(199, 'x');
  const json error = error_of("/v1/completions", {{"prompt", "a"}, {begin + "\xc3\xa9", 1}});
  CHECK(error["param"] == begin);
  CHECK(error["code"] == "unknown_parameter");
}

TEST_CASE("errors of the library name the member, too") {
  const std::string completions = "/v1/completions", chat = "/v1/chat/completions";
  const json hello = message({{"role", "user"}, {"content", "Hello"}});
  const std::vector<std::pair<json, std::string>> cases = {
      {{{"logit_bias", {{"300", 1}}}}, "logit_bias"},
      {{{"forced_bos_token_id", 300}}, "forced_bos_token_id"},
      {{{"forced_eos_token_id", {300}}}, "forced_eos_token_id"},
      {{{"bad_words_ids", {{300}}}}, "bad_words_ids"},
      {{{"suppress_tokens", {300}}}, "suppress_tokens"},
      {{{"sequence_bias", json::array({{{300}, 1.5}})}}, "sequence_bias"},
      {{{"max_length", 1}}, "max_length"},
      {{{"num_beams", 2}, {"num_beam_groups", 3}}, "num_beam_groups"},
      {{{"num_beams", 2}, {"max_tokens", 0}}, "max_tokens"},
      {{{"num_beams", 2}, {"max_new_tokens", 0}}, "max_new_tokens"}};
  for (const auto& [members, param] : cases) {
    json body = {{"prompt", "a"}};
    body.update(members);
    CHECK(error_of(completions, body)["param"] == param);
    if (members.contains("num_beams")) continue;
    body = hello;
    body.update(members);
    CHECK(error_of(chat, body)["param"] == param);
  }
}

TEST_CASE("an error about several members names none") {
  const std::vector<std::string> prompts(2000, "a");
  const json error = error_of("/v1/completions", {{"prompt", prompts}, {"n", 128}});
  CHECK(error["param"].is_null());
}

TEST_CASE("stream_options need a stream, as in OpenAI's API") {
  const json chat = message({{"role", "user"}, {"content", "a"}});
  for (auto [path, body] : std::vector<std::pair<std::string, json>>{
           {"/v1/completions", {{"prompt", "a"}}}, {"/v1/chat/completions", chat}}) {
    body["max_tokens"] = 1;
    body["stream_options"] = {{"include_usage", true}};
    for (const json& stream : {json(nullptr), json(false)}) {
      body["stream"] = stream;
      const json error = error_of(path, body);
      CHECK(error["message"] == "stream_options: needs \"stream\": true");
      CHECK(error["param"] == "stream_options");
    }
    body["stream_options"] = nullptr;
    CHECK(server().post(path, body).status == 200);
  }
}

TEST_CASE("a text that is longer than the context is an error with a code of its own") {
  const std::string text(1025, 'a');  // the model takes 1,024 tokens
  const json message = {{"role", "user"}, {"content", text}};
  for (const auto& [path, body, param] : std::vector<std::tuple<std::string, json, std::string>>{
           {"/v1/completions", {{"prompt", text}}, "prompt"},
           {"/v1/completions", {{"prompt", {"a", text}}}, "prompt"},
           {"/v1/chat/completions", {{"messages", json::array({message})}}, "messages"},
           {"/v1/embeddings", {{"input", text}}, "input"},
           {"/inspect", {{"prompt", text}}, "prompt"}}) {
    const json error = error_of(path, body);
    CHECK(error["code"] == "context_length_exceeded");
    CHECK(error["param"] == param);
  }
}

TEST_CASE("an error about messages says what was found") {
  const json error = error_of("/v1/chat/completions", {{"messages", "hi"}});
  CHECK(error["message"] == "messages: expected a list of at least one message, found \"hi\"");
  CHECK(error["param"] == "messages");
}

TEST_CASE("a completion that has the name of the limit of a chat is told its own") {
  const json error = error_of("/v1/completions", {{"prompt", "a"}, {"max_completion_tokens", 1}});
  CHECK(error["message"] ==
        "unknown key 'max_completion_tokens' (did you mean 'max_new_tokens'?)");
}

TEST_CASE("an error of embeddings says which of the inputs it is about") {
  const json empty = error_of("/v1/embeddings", {{"input", {"a", "b", ""}}});
  CHECK(empty["message"] == "input[2]: expected a text of 1 to 1024 tokens, found 0");
  CHECK(empty["param"] == "input[2]");
  const json too_long = error_of("/v1/embeddings", {{"input", {"a", std::string(1025, 'a')}}});
  CHECK(too_long["param"] == "input[1]");
  CHECK(too_long["code"] == "context_length_exceeded");
}

TEST_CASE("an error about the number of texts names the member that the request has") {
  for (const std::string name : {"n", "num_return_sequences"}) {
    CHECK(error_of("/v1/completions", {{"prompt", "a"}, {"num_beams", 2}, {name, 3}})["message"] ==
          name + ": expected at most the number of \"num_beams\", 2, found 3");
    CHECK(error_of("/v1/completions", {{"prompt", "a"}, {"best_of", 2}, {name, 3}})["message"] ==
          "best_of: expected at least the number of \"" + name + "\", 3, found 2");
    CHECK(error_of("/v1/completions", {{"prompt", "a"}, {name, 0}})["param"] == name);
  }
}

TEST_CASE("a beam search refuses what it would ignore, in the words of the command") {
  for (const auto& [name, value] : std::vector<std::pair<std::string, json>>{{"temperature", 0.5},
                                                                             {"temperature", 0},
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
    CAPTURE(name);
    const json body = {{"prompt", "a"}, {"num_beams", 2}, {name, value}};
    CHECK(error_of("/v1/completions", body)["message"] ==
          name + ": cannot be combined with \"num_beams\": give only one of them");
  }
  for (const json& more : {json{{"do_sample", false}}, json{{"temperature", nullptr}}}) {
    json body = {{"prompt", "a"}, {"num_beams", 2}};
    body.update(more);
    CHECK(server().post("/v1/completions", body).status == 200);
  }
}

TEST_CASE("what only a beam search uses needs num_beams, as in the command") {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, json>>{{"length_penalty", 1.0},
                                                 {"early_stopping", true}}) {
    for (const json& beams : {json(nullptr), json(1)}) {
      const json error =
          error_of("/v1/completions", {{"prompt", "a"}, {"num_beams", beams}, {name, value}});
      CHECK(error["message"] == name + ": needs \"num_beams\": give at least 2 beams");
      CHECK(error["param"] == name);
    }
    const json none = {{"prompt", "a"}, {"max_tokens", 1}, {name, nullptr}};
    CHECK(server().post("/v1/completions", none).status == 200);
  }
  const json padded = {{"prompt", "a"}, {"max_tokens", 1}, {"pad_token_id", 7}};
  CHECK(server().post("/v1/completions", padded).status == 200);
}

TEST_CASE("errors advise on the names that options have in other programs") {
  const auto message_for = [](const char* name) {
    return error_of("/v1/completions", {{"prompt", "a"}, {name, 4}})["message"];
  };
  CHECK(message_for("eos_token_id") ==
        "unknown key 'eos_token_id' (the files of the model name the tokens that end a text; "
        "'stop' gives strings that end it)");
  json twice = message({{"role", "user"}, {"content", "a"}});
  twice.update({{"n", 1}, {"num_return_sequences", 2}});
  CHECK(error_of("/v1/chat/completions", twice)["message"] ==
        "n: \"num_return_sequences\" says the same: remove one of them");
  CHECK(message_for("greedy") == "unknown key 'greedy' (write 'do_sample' with the value false)");
}

}  // namespace gpt2::test::errors_test
