// Tests POST /v1/chat/completions: the transcript that a model continues, and the answers.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "requests/read/chat_request.h"
#include "serve/answers.h"
#include "serve/schema.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/test_server.h"

namespace gpt2::test::chat_test {

using nlohmann::json;

namespace {

const TestServer& server() {
  static const TestServer one;
  return one;
}

json user(const std::string& text) { return {{"role", "user"}, {"content", text}}; }

HttpResponse chat(const json& body) { return server().post("/v1/chat/completions", body); }

json answer(const json& body) {
  const HttpResponse response = chat(body);
  CAPTURE(body, response.body);
  REQUIRE(response.status == 200);
  check_chat(response.json());
  return response.json();
}

// The text without the space between "Assistant:" and its first word.
std::string without_space(const std::string& text) {
  return text.starts_with(' ') ? text.substr(1) : text;
}

// Checks that an answer continues this transcript as gpt2 generate does.
void check_continues(const json& body, const std::string& transcript, const Words& arguments) {
  const json written = generated(transcript, joined_words({"--stop", "\nUser:"}, arguments))[0];
  const json found = answer(body);
  REQUIRE(found["choices"].size() == 1);
  const json& choice = found["choices"][0];
  CHECK(choice["index"] == 0);
  CHECK(choice["message"]["content"] == without_space(written["text"]));
  CHECK(choice["finish_reason"] == finish_reason_of(written));
  CHECK(found["usage"]["prompt_tokens"] == written["prompt_token_ids"].size());
  CHECK(found["usage"]["completion_tokens"] == written["token_ids"].size());
}

// Joins the parts of a stream: the choices of a whole answer.
json joined_chat(const HttpResponse& response, const std::string& usage = "") {
  std::map<std::size_t, json> choices;
  for (const json& chunk : chunks_of(response)) {
    check_chat_chunk(chunk, chunk["choices"].empty() ? "object" : usage);
    for (const json& part : chunk["choices"]) {
      const bool is_first = !choices.contains(part["index"]);
      json& choice = choices[part["index"]];
      if (is_first) {
        CHECK(part["delta"]["role"] == "assistant");
        choice = {{"index", part["index"]},
                  {"message", part["delta"]},
                  {"logprobs", nullptr},
                  {"finish_reason", nullptr}};
      }
      CHECK(choice["finish_reason"].is_null());
      choice["finish_reason"] = part["finish_reason"];
      if (is_first) continue;
      CHECK_FALSE(part["delta"].contains("role"));
      json& content = choice["message"]["content"];
      content = content.get<std::string>() + part["delta"].value("content", "");
      if (part["logprobs"].is_null()) continue;
      if (choice["logprobs"].is_null())
        choice["logprobs"] = {{"content", json::array()}, {"refusal", nullptr}};
      for (const json& one : part["logprobs"]["content"])
        choice["logprobs"]["content"].push_back(one);
    }
  }
  json list = json::array();
  for (auto& [index, choice] : choices) list.push_back(std::move(choice));
  return list;
}

}  // namespace

TEST_CASE("messages become a transcript, which the model continues until the user's next line") {
  const std::string hello = "User: Hello\nAssistant:";
  check_continues({{"messages", {user("Hello")}}, {"max_tokens", 20}}, hello, {"-n", "20"});
  check_continues({{"messages", {user("Hello")}}, {"max_completion_tokens", 7}, {"seed", 3}}, hello,
                  {"-n", "7", "--seed", "3"});
  check_continues({{"messages", {user("Hello")}}}, hello, {"-n", "512"});  // fills the context
  check_continues(
      {{"messages",
        {user("Hi"),
         {{"role", "system"}, {"content", "Be kind."}},
         {{"role", "assistant"}, {"content", "Oh"}, {"name", "a"}, {"refusal", nullptr}},
         {{"role", "developer"}, {"content", "Be short."}},
         user("Who are you?")}},
       {"temperature", 0},
       {"max_tokens", 30}},
      "Be kind.\n\nBe short.\n\nUser: Hi\nAssistant: Oh\nUser: Who are you?\nAssistant:",
      {"--greedy", "-n", "30"});
  const json parts = {{{"type", "text"}, {"text", "Hel"}}, {{"type", "text"}, {"text", "lo"}}};
  check_continues({{"messages", {{{"role", "user"}, {"content", parts}}}}, {"max_tokens", 5}},
                  hello, {"-n", "5"});
  check_continues({{"messages", {user("Hello")}}, {"stop", {"."}}, {"max_tokens", 99}}, hello,
                  {"--stop", ".", "-n", "99"});
}

TEST_CASE("members of the chat API that change nothing are accepted") {
  const json body = {{"messages", {user("Hello")}}, {"max_tokens", 5}};
  const json plain = answer(body);
  const json full = answer(with(body, {{"user", "u"},
                                       {"metadata", {{"a", "b"}}},
                                       {"tools", json::array()},
                                       {"tool_choice", "none"},
                                       {"response_format", {{"type", "text"}}},
                                       {"model", nullptr}}));
  CHECK(full["choices"] == plain["choices"]);
  CHECK(full["usage"] == plain["usage"]);
}

TEST_CASE("n choices, their log-probabilities, and the same as a stream") {
  const json body = {{"messages", {user("Tell me a story")}},
                     {"n", 3},
                     {"max_tokens", 25},
                     {"logprobs", true},
                     {"top_logprobs", 4},
                     {"seed", 11}};
  const json found = answer(body);
  const auto written = generated(
      "User: Tell me a story\nAssistant:",
      {"--stop", "\nUser:", "-n", "25", "--samples", "3", "--seed", "11", "--logprobs", "4"});
  REQUIRE(found["choices"].size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    const json& choice = found["choices"][i];
    CHECK(choice["index"] == i);
    CHECK(choice["message"]["content"] == without_space(written[i]["text"]));
    const json& content = choice["logprobs"]["content"];
    REQUIRE(content.size() == written[i]["logprobs"].size());
    for (std::size_t j = 0; j < content.size(); ++j) {
      const json& score = written[i]["logprobs"][j];
      CHECK(content[j]["logprob"] == score["logprob"]);
      const auto bytes = bundled::tokenizer().bytes(score["id"].get<int>());
      std::string found_bytes;
      for (const json& byte : content[j]["bytes"])
        found_bytes += static_cast<char>(byte.get<int>());
      CHECK(found_bytes == bytes);
      REQUIRE(content[j]["top_logprobs"].size() == 4);
      for (std::size_t k = 0; k < 4; ++k) {
        CHECK(content[j]["top_logprobs"][k]["logprob"] == score["top"][k]["logprob"]);
      }
    }
  }
  const json with_usage = {{"stream", true}, {"stream_options", {{"include_usage", true}}}};
  const HttpResponse stream = chat(with(body, with_usage));
  CHECK(joined_chat(stream, "null") == found["choices"]);
  const json last = chunks_of(stream).back();
  CHECK(last["choices"] == json::array());
  CHECK(last["usage"] == found["usage"]);
}

TEST_CASE(
    "a chat that loses its beginning leaves half of the context to an answer without a limit") {
  std::string text;
  for (int i = 0; i < 600; ++i) text += "upon ";
  const auto usage = [&](const json& more) {
    return answer(with({{"messages", {user(text)}}, {"truncate", true}, {"ignore_eos", true}},
                       more))["usage"];
  };
  // The model takes 512 tokens.
  CHECK(usage(json::object())["prompt_tokens"] == 256);
  CHECK(usage({{"max_tokens", 12}})["prompt_tokens"] == 500);
  CHECK(usage({{"max_completion_tokens", 12}})["completion_tokens"] == 12);
}

TEST_CASE("the dialog form ends each message with the end-of-text token") {
  const std::optional<gpt2::Tokenizer> tokenizer = bundled::tokenizer();
  gpt2::RequestContext context = {tokenizer, bundled::model().config()};
  context.chat = gpt2::ChatForm::dialog;
  const json body = {{"messages",
                      {{{"role", "system"}, {"content", "Be kind."}},
                       user("Hi"),
                       {{"role", "assistant"}, {"content", "Oh"}},
                       user("Who?")}},
                     {"stop", "x"}};
  const auto request = gpt2::read_chat_request(body, context);
  std::vector<gpt2::TokenId> expected;
  for (const char* const text : {"Be kind.", "Hi", "Oh", "Who?"}) {
    for (const gpt2::TokenId id : tokenizer->encode(text)) expected.push_back(id);
    expected.push_back(tokenizer->end_of_text().value());
  }
  REQUIRE(request.prompts.size() == 1);
  CHECK(request.prompts[0].tokens == expected);
  CHECK(request.options.stop == std::vector<std::string>{"x"});
}

}  // namespace gpt2::test::chat_test
