// Tests requests for chats: the transcript or dialog that messages become, the token that begins a
// text, the answer, its parts, and what a model that continues texts cannot do.

#include "requests/read/completion_request.h"
#include "requests/read/tokens.h"
#include "support/openai.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_chat_test {

namespace {

json user(const json& content) { return {{"role", "user"}, {"content", content}}; }

json chat(const json& body, const Door& door = of_stories()) {
  const json found = answer("chat", body, door);
  CAPTURE(body.dump().substr(0, 300), found);
  check_chat(found);
  return found;
}

// The text without the space between "Assistant:" and its first word.
std::string without_space(const std::string& text) {
  return text.starts_with(' ') ? text.substr(1) : text;
}

// Checks that an answer is the completion of a prompt with these members.
void check_completes(const json& found, json prompt, const json& members,
                     const Door& door = of_stories()) {
  const json expected = answer("completions", with({{"prompt", std::move(prompt)}}, members), door);
  CAPTURE(found, expected);
  REQUIRE(found["choices"].size() == 1);
  const json& choice = found["choices"][0];
  CHECK(choice["index"] == 0);
  CHECK(choice["message"]["content"] == without_space(expected["choices"][0]["text"]));
  CHECK(choice["finish_reason"] == expected["choices"][0]["finish_reason"]);
  CHECK(choice["logprobs"].is_null());
  CHECK(found["usage"] == expected["usage"]);
}

}  // namespace

TEST_CASE("messages become a transcript, which the model continues until the user's next line") {
  const std::string hello = "User: Hello\nAssistant:";
  const json body = {{"messages", {user("Hello")}}}, stop = {{"stop", "\nUser:"}};
  check_completes(chat(with(body, {{"max_completion_tokens", 7}, {"seed", 3}})), hello,
                  with(stop, {{"max_tokens", 7}, {"seed", 3}}));
  check_completes(chat(body), hello, with(stop, {{"max_tokens", 512}}));  // fills the context
  check_completes(chat(with(body, {{"stop", {"."}}, {"max_tokens", 99}})), hello,
                  {{"stop", {".", "\nUser:"}}, {"max_tokens", 99}});
  const json dialog = json::parse(R"({"temperature": 0, "max_tokens": 30, "messages": [
    {"role": "user", "content": "Hi"}, {"role": "system", "content": "Be kind."},
    {"role": "assistant", "content": "Oh", "name": "a", "refusal": null},
    {"role": "developer", "content": "Be short."},
    {"role": "user", "content": [{"type": "text", "text": "Who are "},
                                 {"type": "text", "text": "you?"}]}]})");
  check_completes(
      chat(dialog),
      "Be kind.\n\nBe short.\n\nUser: Hi\nAssistant: Oh\nUser: Who are you?\nAssistant:",
      with(stop, {{"temperature", 0}, {"max_tokens", 30}}));
}

TEST_CASE("a model of dialogs ends each message with the end-of-text token") {
  const Door dialogs = {.model = stories(), .is_dialog = true};
  json prompt = json::array();
  for (const char* const text : {"Be kind.", "Hi", "Oh", "Who?"}) {
    for (const TokenId id : stories().ids(text)) prompt.push_back(id);
    prompt.push_back(stories().tokenizer->end_of_text().value());
  }
  const json body = json::parse(R"({"max_tokens": 9, "stop": "x", "messages": [
    {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Oh"}, {"role": "user", "content": "Who?"}]})");
  check_completes(chat(body, dialogs), prompt, {{"max_tokens", 9}, {"stop", "x"}});
}

namespace {

std::optional<Tokenizer> tokenizer_of(const char* settings) {
  const TemporaryDirectory folder;
  folder.write("vocab.json", R"({"a": 0, "<s>": 1, "</s>": 2, "x": 3})");
  folder.write("merges.txt", "");
  folder.write("tokenizer_config.json", settings);
  return Tokenizer::load(folder.path());
}

}  // namespace

TEST_CASE("a text begins with the bos token of the config, else of the tokenizer, else with eos") {
  const auto both = tokenizer_of(R"({"bos_token": "<s>", "eos_token": "</s>"})");
  const auto end = tokenizer_of(R"({"eos_token": "</s>"})");
  Config config;
  config.bos_token_id = 3;
  config.eos_token_id = {0};
  CHECK(first_token(both, config) == 3);
  config.bos_token_id.reset();
  CHECK(first_token(both, config) == 1);
  CHECK(first_token(end, config) == 2);
  CHECK(first_token(std::nullopt, config) == 0);
  config.eos_token_id.clear();
  check_bad_argument([&] { static_cast<void>(first_token(std::nullopt, config)); },
                     {"no bos", "vocabulary"});
  // The eos token ends each message of a dialog.
  config.bos_token_id = 1;
  const json defaults = json::object();
  RequestContext context = {both, config, defaults};
  context.chat = ChatForm::dialog;
  const json body = {{"messages", {user("ax")}}};
  CHECK(read_chat_request(body, context).prompts[0].tokens == std::vector<TokenId>{0, 3, 2});
}

TEST_CASE("special tokens in a message are plain text, unless the request says otherwise") {
  const json body = {{"messages", {user("<|endoftext|>")}}, {"max_tokens", 1}};
  const auto tokens = [&](const json& more) {
    return chat(with(body, more), {})["usage"]["prompt_tokens"].get<int>();
  };
  CHECK(tokens({}) == 30);  // "User: <|endoftext|>\nAssistant:", as the bytes are the tokens
  CHECK(tokens({{"split_special_tokens", false}}) == 18);
}

TEST_CASE("members of the chat API that change nothing are accepted") {
  const json body = {{"messages", {user("Hello")}}, {"max_tokens", 5}};
  json more = json::parse(R"({"model": null, "tools": [], "functions": null, "tool_choice": "none",
                              "modalities": ["text"], "response_format": {"type": "text"}})");
  for (const char* const name :
       {"user", "metadata", "store", "service_tier", "parallel_tool_calls", "prompt_cache_key",
        "reasoning_effort", "safety_identifier", "verbosity"}) {
    more[name] = {{"any", 1}};
  }
  CHECK(chat(with(body, more)) == chat(body));
}

TEST_CASE("n choices, their log-probabilities, and the same as a stream") {
  const json common = {{"n", 2}, {"max_tokens", 25}, {"seed", 11}};
  const json body = with(
      common, {{"messages", {user("Tell me a story")}}, {"logprobs", true}, {"top_logprobs", 4}});
  const json found = chat(body);
  const json prompt = {{"prompt", "User: Tell me a story\nAssistant:"}, {"stop", "\nUser:"}};
  const json records =
      answer("generate", with(with(common, prompt), {{"logprobs", 4}}), of_stories());
  REQUIRE(found["choices"].size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CAPTURE(i);
    const json& choice = found["choices"][i];
    CHECK(choice["index"] == i);
    CHECK(choice["message"]["content"] == without_space(records[i]["text"]));
    const json& content = choice["logprobs"]["content"];
    REQUIRE(content.size() == records[i]["logprobs"].size());
    for (std::size_t j = 0; j < content.size(); ++j) {
      const json& score = records[i]["logprobs"][j];
      CHECK(content[j]["logprob"] == score["logprob"]);
      std::string bytes;
      for (const json& byte : content[j]["bytes"]) bytes += static_cast<char>(byte.get<int>());
      CHECK(bytes == stories().tokenizer->bytes(score["id"].get<int>()));
      REQUIRE(content[j]["top_logprobs"].size() == 4);
      for (std::size_t k = 0; k < 4; ++k) {
        CHECK(content[j]["top_logprobs"][k]["logprob"] == score["top"][k]["logprob"]);
      }
    }
  }
  CHECK(joined_chat(parts("chat", body, of_stories())) == found["choices"]);
  const json with_usage = with(body, {{"stream_options", {{"include_usage", true}}}});
  const std::vector<json> all = parts("chat", with_usage, of_stories());
  CHECK(joined_chat(all, "null") == found["choices"]);
  CHECK(all.back()["choices"] == json::array());
  CHECK(all.back()["usage"] == found["usage"]);
  const json plain = chat({{"messages", {user("a")}}, {"max_tokens", 1}, {"logprobs", true}}, {});
  CHECK(plain["choices"][0]["logprobs"]["content"][0]["token"] == "a");
  CHECK(plain["choices"][0]["logprobs"]["content"][0]["top_logprobs"] == json::array());
}

TEST_CASE("the length of an answer") {
  const json body = {{"messages", {user("a")}}};  // 18 tokens of 64: "User: a\nAssistant:"
  const auto tokens = [&](const json& more, const Door& door = {}) {
    return chat(with(body, more), door)["usage"]["completion_tokens"].get<int>();
  };
  CHECK(tokens({}) == 64 - 18 + 1);  // the last token need not be read
  CHECK(tokens({{"max_tokens", 5}}) == 5);
  CHECK(tokens({{"max_new_tokens", 5}}) == 5);
  CHECK(tokens({{"max_completion_tokens", 5}}) == 5);
  CHECK(tokens({{"max_length", 20}}) == 2);
  CHECK(tokens({{"max_length", 20}, {"max_completion_tokens", 5}}) == 5);
  const Door limited = {alphabet(), {{"max_new_tokens", 9}}};
  CHECK(tokens({}, limited) == 9);
  CHECK(tokens({{"max_tokens", 12}}, limited) == 12);
  CHECK(tokens({{"max_completion_tokens", 12}}, limited) == 12);
}

TEST_CASE(
    "a chat that loses its beginning leaves half of the context to an answer without a limit") {
  const auto usage = [&](const json& more) {
    const json body = {{"messages", {user(std::string(600, 'b'))}}, {"truncate", true}};
    return chat(with(body, more), {})["usage"];
  };
  CHECK(usage({})["prompt_tokens"] == 32);
  CHECK(usage({{"max_tokens", 12}})["prompt_tokens"] == 52);
  CHECK(usage({{"max_completion_tokens", 12}})["completion_tokens"] == 12);
}

TEST_CASE("errors of chats name the part of a message") {
  check_refusals("chat", "",
                 {{R"("prompt": "a")", "messages", kMissing},
                  {R"("messages": "hi")", "messages"},
                  {R"("messages": [])", "messages"},
                  {R"("messages": ["Hello"])", "messages[0]"}});
  std::vector<Refused> messages = {
      {R"("role": "user")", ".content", kMissing},
      {R"("role": "user", "content": null)", ".content", kMissing},
      {R"("content": "a")", ".role", kMissing},
      {R"("role": "tool", "content": "a")", ".role"},
      {R"("role": 1, "content": "a")", ".role"},
      {R"("role": "user", "type": "item", "content": "a")", ".type"},
      {R"("role": "user", "content": 5)", ".content"},
      {R"("role": "user", "content": [{"type": "image_url"}])", ".content[0]"},
      {R"("role": "user", "content": [{"type": "text", "text": "a"}, "b"])", ".content[1]"},
      {R"("role": "user", "content": [{"type": "text", "text": 7}])", ".content[0].text"},
      {R"("role": "user", "content": [{"type": "text"}])", ".content[0].text"},
      {R"("role": "user", "content": "a", "tool_calls": 1)", ".tool_calls", kUnknown}};
  for (Refused& request : messages) {
    request.body = R"("messages": [{"role": "user", "content": "Hello"}, {)" + request.body + "}]";
    request.param = "messages[1]" + request.param.get<std::string>();
  }
  check_refusals("chat", "", messages);
}

// requests_completions_test has what chats share with completions.
TEST_CASE("what a chat cannot have is refused by its name") {
  std::vector<Refused> requests = {
      {R"("response_format": {"type": "json_object"})", "response_format"},
      {R"("response_format": {"type": "text", "more": 1})", "response_format"},
      {R"("modalities": ["text", "audio"])", "modalities"},
      {R"("logprobs": 2)", "logprobs"},
      {R"("top_logprobs": 2)", "top_logprobs"},
      {R"("logprobs": true, "top_logprobs": 21)", "top_logprobs"},
      {R"("n": 0)", "n"},
      {R"("max_completion_tokens": -1)", "max_completion_tokens"},
      {R"("max_completion_tokens": 1, "max_tokens": 1)", "max_completion_tokens"},
      {R"("max_length": 10)", "max_length"},
      {R"("suppress_tokens": [300])", "suppress_tokens"},
      {R"("stream_options": {})", "stream_options"}};
  for (const char* const name : {"tools", "tool_choice", "functions", "function_call", "audio"}) {
    requests.push_back({"\"" + std::string(name) + "\"" + R"(: [{"type": "function"}])", name});
  }
  for (const char* const name : {"num_beams", "best_of", "echo", "prompt", "suffix"}) {
    requests.push_back({"\"" + std::string(name) + "\"" + ": 2", name, kUnknown});
  }
  check_refusals("chat", R"("messages": [{"role": "user", "content": "Hello"}])", requests);
  const json error = refusal("chat", {{"messages", {user(std::string(65, 'a'))}}});
  CHECK(error["code"] == kTooLong);
  CHECK(error["param"] == "messages");
  const std::string message =
      refusal("chat", {{"messages", {user("a")}}}, {alphabet_of_ids()})["message"];
  CHECK(message.find("needs a tokenizer") != message.npos);
}

}  // namespace gpt2::test::requests_chat_test
