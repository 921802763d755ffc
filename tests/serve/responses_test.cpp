// Tests POST /v1/responses: the chat that its input is, the answer, its events, what is refused.
#include <string>
#include <utility>
#include <vector>

#include "serve/schema.h"
#include "support/catch.h"
#include "support/test_server.h"

namespace gpt2::test::responses_test {

using nlohmann::json;

namespace {

const TestServer& server() {
  static const TestServer one;
  return one;
}

HttpResponse respond(const json& body) { return server().post("/v1/responses", body); }

json answer(const json& body) {
  const HttpResponse response = respond(body);
  CAPTURE(body, response.body);
  REQUIRE(response.status == 200);
  return response.json();
}

// Checks a response, and returns its message.
json message_of(const json& response) {
  check_shape(response,
              "id:string object:string created_at:integer status:string error:null "
              "incomplete_details:null|object model:string output:array "
              "parallel_tool_calls:boolean store:boolean temperature:number text:object "
              "tool_choice:string tools:array top_p:number usage:object");
  CHECK(response["id"].get<std::string>().starts_with("resp_"));
  REQUIRE(response["output"].size() == 1);
  const json& message = response["output"][0];
  check_shape(message, "type:string id:string status:string role:string content:array");
  CHECK(message["status"] == response["status"]);
  REQUIRE(message["content"].size() == 1);
  check_shape(message["content"][0], "type:string text:string annotations:array logprobs:array");
  return message;
}

// Returns the events of a stream. Checks that each has the name of its type, and its number.
std::vector<json> events_of(const HttpResponse& response) {
  CHECK(response.status == 200);
  std::vector<json> events;
  for (const std::string& text : response.events()) {
    const json& event = events.emplace_back(json::parse(text));
    CHECK(event["sequence_number"] == events.size() - 1);
    CHECK(response.body.find("event: " + event["type"].get<std::string>() + "\ndata: " + text) !=
          std::string::npos);
  }
  return events;
}

}  // namespace

TEST_CASE("a response is the message that a chat has") {
  const json body = {{"input", "Hello"}, {"max_output_tokens", 20}, {"seed", 3}};
  const json found = answer(body);
  const json message = message_of(found);
  const json chat =
      server()
          .post("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "Hello"}}}},
                                         {"max_tokens", 20},
                                         {"seed", 3}})
          .json();
  CHECK(message["content"][0]["text"] == chat["choices"][0]["message"]["content"]);
  CHECK(found["usage"]["input_tokens"] == chat["usage"]["prompt_tokens"]);
  CHECK(found["usage"]["output_tokens"] == 20);
  CHECK(found["usage"]["total_tokens"] == chat["usage"]["total_tokens"]);
  CHECK(found["status"] == "incomplete");
  CHECK(found["incomplete_details"]["reason"] == "max_output_tokens");
}

TEST_CASE("instructions, messages and their parts are the messages of a chat") {
  const json found = answer(
      {{"instructions", "Be kind."},
       {"input",
        {{{"role", "user"}, {"content", "Hi"}},
         {{"type", "message"},
          {"id", "msg_1"},
          {"status", "completed"},
          {"role", "assistant"},
          {"content", {{{"type", "output_text"}, {"text", "Oh"}, {"annotations", json::array()}}}}},
         {{"role", "user"}, {"content", {{{"type", "input_text"}, {"text", "Who?"}}}}}}},
       {"temperature", 0},
       {"top_p", 1},
       {"stop", " think"},
       {"store", true},
       {"text", {{"format", {{"type", "text"}}}}},
       {"truncation", "auto"}});
  const json written =
      generated("Be kind.\n\nUser: Hi\nAssistant: Oh\nUser: Who?\nAssistant:",
                {"--greedy", "-n", "512", "--stop", " think", "--stop", "\nUser:"})[0];
  CHECK(message_of(found)["content"][0]["text"] == written["text"]);
  CHECK(found["usage"]["output_tokens"] == written["token_ids"].size());
  CHECK(found["status"] == "completed");
}

TEST_CASE("the events of a stream have the parts of the whole response") {
  json body = {{"input", "Tell me a story"}, {"max_output_tokens", 25}, {"seed", 11}};
  const json whole = answer(body);
  body["stream"] = true;
  const std::vector<json> events = events_of(respond(body));
  std::string types, text;
  for (const json& event : events) {
    const std::string type = event["type"];
    if (type != "response.output_text.delta") types += type + " ";
    if (type == "response.output_text.delta") text += event["delta"].get<std::string>();
    if (event.contains("item_id")) CHECK(event["item_id"] == events[2]["item"]["id"]);
  }
  CHECK(types ==
        "response.created response.in_progress response.output_item.added "
        "response.content_part.added response.output_text.done response.content_part.done "
        "response.output_item.done response.incomplete ");
  const json& last = events.back()["response"];
  CHECK(message_of(last)["content"] == message_of(whole)["content"]);
  CHECK(last["usage"] == whole["usage"]);
  CHECK(text == message_of(last)["content"][0]["text"]);
  CHECK(events[events.size() - 2]["item"] == last["output"][0]);
  CHECK(events[events.size() - 4]["text"] == text);
  CHECK(events[0]["response"]["id"] == last["id"]);
  CHECK(events[0]["response"]["status"] == "in_progress");
}

TEST_CASE("what a response cannot have is refused by its name") {
  const std::vector<std::pair<std::string, json>> members = {
      {"tools", {{{"type", "function"}}}},
      {"previous_response_id", "resp_1"},
      {"conversation", "conv_1"},
      {"background", true},
      {"include", {"message.output_text.logprobs"}},
      {"text.format", {{"format", {{"type", "json_schema"}}}}},
      {"truncation", "some"},
      {"top_logprobs", 3},
      {"n", 2},
      {"input[0].type", {{{"type", "item_reference"}, {"id", "a"}}}},
      {"input[0].content[0]",
       {{{"role", "user"}, {"content", {{{"type", "input_image"}, {"image_url", "x"}}}}}}},
      {"input", json::array()},
      {"input", nullptr}};
  for (const auto& [name, value] : members) {
    json body = {{"input", "Hello"}};
    body[name.substr(0, name.find_first_of(".["))] = value;
    const HttpResponse refused = respond(body);
    CAPTURE(name, refused.body);
    CHECK(refused.status == 400);
    check_error(refused.json());
    CHECK(refused.json()["error"]["param"] == name);
  }
}

}  // namespace gpt2::test::responses_test
