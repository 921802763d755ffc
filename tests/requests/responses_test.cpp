// Tests requests for responses: the chat that the input is, the answer and its events.

#include "support/openai.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_responses_test {

namespace {

// Checks a response, and returns its message.
json message_of(const json& response) {
  check_shape(response,
              "id:string object:string created_at:integer status:string error:null "
              "incomplete_details:null|object model:string output:array "
              "parallel_tool_calls:boolean store:boolean temperature:number text:object "
              "tool_choice:string tools:array top_p:number usage:object");
  CHECK(response["id"] == "resp_1");
  CHECK(response["object"] == "response");
  CHECK(response["created_at"] == 5);
  CHECK(response["model"] == "m");
  REQUIRE(response["output"].size() == 1);
  const json& message = response["output"][0];
  check_shape(message, "type:string id:string status:string role:string content:array");
  CHECK(message["status"] == response["status"]);
  REQUIRE(message["content"].size() == 1);
  check_shape(message["content"][0], "type:string text:string annotations:array logprobs:array");
  return message;
}

}  // namespace

TEST_CASE("a response is the message that a chat has") {
  const json found = answer(
      "responses", {{"input", "Hello"}, {"max_output_tokens", 20}, {"seed", 3}}, of_stories());
  const json chat = answer(
      "chat",
      {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}, {"max_tokens", 20}, {"seed", 3}},
      of_stories());
  CHECK(message_of(found)["content"][0]["text"] == chat["choices"][0]["message"]["content"]);
  CHECK(found["usage"]["input_tokens"] == chat["usage"]["prompt_tokens"]);
  CHECK(found["usage"]["output_tokens"] == 20);
  CHECK(found["usage"]["total_tokens"] == chat["usage"]["total_tokens"]);
  CHECK(found["status"] == "incomplete");
  CHECK(found["incomplete_details"]["reason"] == "max_output_tokens");
  CHECK(found["temperature"] == 0.8);
  CHECK(found["top_p"] == 1.0);
}

TEST_CASE("instructions, messages and their parts are the messages of a chat") {
  const json body = json::parse(R"({
    "instructions": "Be kind.", "temperature": 0, "top_p": 1, "stop": " think",
    "input": [{"role": "user", "content": "Hi"},
              {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
               "content": [{"type": "output_text", "text": "Oh", "annotations": []}]},
              {"role": "user", "content": [{"type": "input_text", "text": "Who?"}]}]})");
  const json found = answer("responses", body, of_stories());
  const json expected =
      answer("completions",
             {{"prompt", "Be kind.\n\nUser: Hi\nAssistant: Oh\nUser: Who?\nAssistant:"},
              {"temperature", 0},
              {"max_tokens", 512},
              {"stop", {" think", "\nUser:"}}},
             of_stories());
  CHECK(message_of(found)["content"][0]["text"] == expected["choices"][0]["text"]);
  CHECK(found["usage"]["output_tokens"] == expected["usage"]["completion_tokens"]);
  CHECK(found["status"] == "completed");
  CHECK(found["incomplete_details"].is_null());
  json more = json::parse(R"({"text": {"format": {"type": "text"}, "verbosity": "low"},
    "truncation": "disabled", "background": false, "include": [], "previous_response_id": null,
    "tools": []})");
  for (const char* const name : {"user", "metadata", "store", "service_tier", "parallel_tool_calls",
                                 "prompt_cache_key", "prompt_cache_retention", "reasoning",
                                 "safety_identifier", "stream_options", "max_tool_calls"}) {
    more[name] = {{"any", 1}};
  }
  CHECK(answer("responses", with(body, more), of_stories()) == found);
}

TEST_CASE("truncation says whether a long input loses its beginning") {
  const json body = {{"input", std::string(99, 'b')}};
  CHECK(refusal("responses", body)["code"] == kTooLong);
  CHECK(refusal("responses", with(body, {{"truncation", "disabled"}}))["param"] == "input");
  const json found = answer("responses", with(body, {{"truncation", "auto"}}));
  CHECK(found["usage"]["input_tokens"] == 32);
  CHECK(answer("responses", with(body, {{"truncate", true}}))["usage"] == found["usage"]);
}

TEST_CASE("the events of a stream have the parts of the whole response") {
  const json body = {{"input", "Tell me a story"}, {"max_output_tokens", 25}, {"seed", 11}};
  const json whole = answer("responses", body, of_stories());
  const std::vector<json> events = parts("responses", body, of_stories());
  std::string types, text;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const json& event = events[i];
    CHECK(event["sequence_number"] == i);
    const std::string type = event["type"];
    if (type != "response.output_text.delta") types += type + " ";
    if (type == "response.output_text.delta") text += event["delta"].get<std::string>();
    if (event.contains("item_id")) CHECK(event["item_id"] == events[2]["item"]["id"]);
  }
  CHECK(types ==
        "response.created response.in_progress response.output_item.added "
        "response.content_part.added response.output_text.done response.content_part.done "
        "response.output_item.done response.incomplete ");
  CHECK(events[0]["response"]["status"] == "in_progress");
  CHECK(events[0]["response"]["usage"].is_null());
  CHECK(events.back()["response"] == whole);
  CHECK(text == message_of(whole)["content"][0]["text"]);
  CHECK(events[events.size() - 2]["item"] == whole["output"][0]);
  CHECK(events[events.size() - 4]["text"] == text);
}

TEST_CASE("what a response cannot have is refused by its name") {
  check_refusals("responses", "",
                 {{"", "input", kMissing},
                  {R"("input": null)", "input", kMissing},
                  {R"("input": [])", "input"},
                  {R"("input": 5)", "input"},
                  {R"("input": [{"type": "item_reference", "id": "a"}])", "input[0].type"},
                  {R"("input": [{"role": "user", "content": [{"type": "input_image"}]}])",
                   "input[0].content[0]"}});
  check_refusals("responses", R"("input": "a")",
                 {{R"("instructions": 5)", "instructions"},
                  {R"("tools": [{"type": "function"}])", "tools"},
                  {R"("previous_response_id": "resp_1")", "previous_response_id"},
                  {R"("conversation": "conv_1")", "conversation"},
                  {R"("prompt": {"id": "p"})", "prompt"},
                  {R"("background": true)", "background"},
                  {R"("include": ["message.output_text.logprobs"])", "include"},
                  {R"("text": 5)", "text"},
                  {R"("text": {"format": {"type": "json_schema"}})", "text.format"},
                  {R"("text": {"more": 1})", "text.more", kUnknown},
                  {R"("truncation": "some")", "truncation"},
                  {R"("max_output_tokens": 1, "max_tokens": 1)", "max_output_tokens"},
                  {R"("logprobs": 2)", "logprobs", kUnknown},
                  {R"("top_logprobs": 3)", "top_logprobs", kUnknown},
                  {R"("n": 2)", "n", kUnknown}});
  const std::string message =
      refusal("responses", {{"input", "a"}}, {alphabet_of_ids()})["message"];
  CHECK(message.find("needs a tokenizer") != message.npos);
}

}  // namespace gpt2::test::requests_responses_test
