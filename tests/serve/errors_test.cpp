// Tests what gpt2 serve refuses: the status of each error, and the "param" and "code" that OpenAI's
// API documents. Bodies are JSON texts. The model takes 1,024 tokens, and TEXT stands for 1,025.
#include <string>
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

const json kMissing = "missing_required_parameter", kUnknown = "unknown_parameter",
           kTooLong = "context_length_exceeded";

struct Refusal {
  std::string body;
  json param, code;
};

void check_refusals(const std::string& path, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    std::string body = refusal.body;
    if (const std::size_t at = body.find("TEXT"); at != body.npos) {
      body.replace(at, 4, std::string(1025, 'a'));
    }
    const json error = error_of(path, json::parse(body));
    CAPTURE(refusal.body, error);
    CHECK(error["param"] == refusal.param);
    CHECK(error["code"] == refusal.code);
  }
}

}  // namespace

TEST_CASE("errors name the member with the mistake, and its kind, as OpenAI's do") {
  check_refusals(
      "/v1/completions",
      {{R"({})", "prompt", kMissing},
       {R"({"prompt": "a", "warmth": 1})", "warmth", kUnknown},
       {R"({"prompt": "a", "stream": true, "stream_options": {"usage": 1}})",
        "stream_options.usage", kUnknown},
       {R"({"prompt": "a", "stream_options": {"include_usage": true}})", "stream_options", {}},
       {R"({"prompt": "a", "temperature": "hot"})", "temperature", {}},
       {R"({"prompt": "a", "stop": {"a": 1}})", "stop", {}},
       {R"({"prompt": [1, -1]})", "prompt[1]", {}},
       {R"({"prompt": ["a", "TEXT"]})", "prompt", kTooLong},
       {R"({"prompt": "a", "n": 0})", "n", {}},
       {R"({"prompt": "a", "n": 1, "num_return_sequences": 2})", "n", {}},
       {R"({"prompt": "a", "max_tokens": 1, "max_new_tokens": 2})", "max_tokens", {}}});
  check_refusals("/v1/embeddings",
                 {{R"({})", "input", kMissing},
                  {R"({"input": ""})", "input", {}},
                  {R"({"input": 5})", "input", {}},
                  {R"({"input": ["a", "b", ""]})", "input[2]", {}},
                  {R"({"input": ["a", "TEXT"]})", "input[1]", kTooLong},
                  {R"({"input": "a", "dimensions": 128})", "dimensions", {}},
                  {R"({"input": "a", "encoding_format": "hex"})", "encoding_format", {}},
                  {R"({"input": "a", "pooling": "max"})", "pooling", {}},
                  {R"({"input": "a", "layer": 99})", "layer", {}},
                  {R"({"input": "a", "temperature": 1})", "temperature", kUnknown}});
  check_refusals("/tokenize",
                 {{R"({})", "prompt", kMissing}, {R"({"prompt": "a", "x": 1})", "x", kUnknown}});
  check_refusals("/detokenize",
                 {{R"({})", "tokens", kMissing}, {R"({"tokens": [257]})", "tokens[0]", {}}});
  check_refusals("/inspect", {{R"({"prompt": "TEXT"})", "prompt", kTooLong}});
  const std::string name(199, 'x');  // a longer name is cut between two characters
  check_refusals("/v1/completions",
                 {{R"({"prompt": "a", ")" + name + "\xc3\xa9\": 1}", name, kUnknown}});
}

TEST_CASE("errors of chats name the part of a message") {
  const std::string chat = "/v1/chat/completions";
  check_refusals(chat, {{R"({"prompt": "a"})", "messages", kMissing},
                        {R"({"messages": "hi"})", "messages", {}},
                        {R"({"messages": []})", "messages", {}},
                        {R"({"messages": ["Hello"]})", "messages[0]", {}}});
  std::vector<Refusal> messages = {
      {R"({"role": "user"})", ".content", kMissing},
      {R"({"content": "a"})", ".role", kMissing},
      {R"({"role": "tool", "content": "a"})", ".role", {}},
      {R"({"role": 1, "content": "a"})", ".role", {}},
      {R"({"role": "user", "content": 5})", ".content", {}},
      {R"({"role": "user", "content": [{"type": "image_url"}]})", ".content[0]", {}},
      {R"({"role": "user", "content": [{"type": "text", "text": 7}]})", ".content[0].text", {}},
      {R"({"role": "user", "content": [{"type": "text"}]})", ".content[0].text", {}},
      {R"({"role": "user", "content": "a", "tool_calls": 1})", ".tool_calls", kUnknown}};
  const std::string hello = R"({"messages": [{"role": "user", "content": "Hello"})";
  for (Refusal& refusal : messages) {
    refusal.body = hello + ", " + refusal.body + "]}";
    refusal.param = "messages[1]" + refusal.param.get<std::string>();
  }
  check_refusals(chat, messages);
  check_refusals(
      chat, {{hello + R"(, {"role": "user", "content": "TEXT"}]})", "messages", kTooLong},
             {hello + R"(], "tools": [{"type": "function"}]})", "tools", {}},
             {hello + R"(], "response_format": {"type": "json_object"}})", "response_format", {}},
             {hello + R"(], "modalities": ["text", "audio"]})", "modalities", {}},
             {hello + R"(], "top_logprobs": 2})", "top_logprobs", {}},
             {hello + R"(], "logprobs": true, "top_logprobs": 21})", "top_logprobs", {}},
             {hello + R"(], "logprobs": 2})", "logprobs", {}},
             {hello + R"(], "num_beams": 2})", "num_beams", kUnknown}});
}

TEST_CASE("errors of the library name the member, too") {
  for (const char* const members : {R"("logit_bias": {"300": 1})", R"("forced_bos_token_id": 300)",
                                    R"("forced_eos_token_id": [300])",
                                    R"("bad_words_ids": [[300]])", R"("suppress_tokens": [300])",
                                    R"("sequence_bias": [[[300], 1.5]])", R"("max_length": 1)"}) {
    const std::string text(members);
    const json name = text.substr(1, text.find(':') - 2);
    check_refusals("/v1/completions", {{R"({"prompt": "a", )" + text + "}", name, {}}});
    check_refusals(
        "/v1/chat/completions",
        {{R"({"messages": [{"role": "user", "content": "a"}], )" + text + "}", name, {}}});
  }
}

TEST_CASE("what cannot be together, or needs something else, is refused by name") {
  std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {R"("num_beams": 2, "max_tokens": 0)", {"max_tokens"}},
      {R"("best_of": 2, "n": 3)", {"n", "best_of"}},
      {R"("best_of": 2, "num_return_sequences": 3)", {"num_return_sequences", "best_of"}},
      {R"("length_penalty": 1.0)", {"length_penalty"}},
      {R"("num_beams": 1, "early_stopping": true)", {"early_stopping"}}};
  for (const std::string member :
       {R"("temperature": 0)", R"("top_k": 3)", R"("min_p": 0.5)", R"("overflow": "slide")",
        R"("stream": true)", R"("logprobs": 1)", R"("best_of": 2)"}) {
    cases.push_back(
        {R"("num_beams": 2, )" + member, {member.substr(1, member.find(':') - 2), "num_beams"}});
  }
  for (const auto& [members, names] : cases) {
    const json body = json::parse(R"({"prompt": "a", )" + members + "}");
    const std::string message = error_of("/v1/completions", body)["message"];
    CAPTURE(members, message);
    for (const std::string& name : names) CHECK(message.find(name) != message.npos);
  }
}

}  // namespace gpt2::test::errors_test
