#pragma once

#include <nlohmann/json.hpp>

#include "support/test.h"

// The members of OpenAI's answers and their types, as
// https://platform.openai.com/docs/api-reference documents them.

namespace gpt2::test {

/// Checks that a value is an object with these members and no others. A shape lists the members,
/// such as "id:string created:integer logprobs:null|object", with the types that each may have, as
/// nlohmann::json names them; "integer" is a number without a fraction.
inline void check_shape(const nlohmann::json& value, const std::string& shape) {
  CAPTURE(value, shape);
  REQUIRE(value.is_object());
  std::istringstream members(shape);
  std::size_t count = 0;
  for (std::string member; members >> member; ++count) {
    CAPTURE(member);
    const std::size_t colon = member.find(':');
    REQUIRE(value.contains(member.substr(0, colon)));
    const nlohmann::json& found = value[member.substr(0, colon)];
    const std::string types = "|" + member.substr(colon + 1) + "|";
    const bool is_whole = found.is_number_integer() && types.find("|integer|") != types.npos;
    const std::string type = std::string("|") + found.type_name() + "|";
    CHECK((is_whole || types.find(type) != types.npos));
  }
  CHECK(value.size() == count);
}

/// Returns the object with more members, or other values of some.
inline nlohmann::json with(nlohmann::json object, const nlohmann::json& more) {
  for (const auto& [name, value] : more.items()) object[name] = value;
  return object;
}

inline void check_usage(const nlohmann::json& usage) {
  check_shape(usage, "prompt_tokens:integer completion_tokens:integer total_tokens:integer");
  CHECK(usage["total_tokens"] ==
        usage["prompt_tokens"].get<int>() + usage["completion_tokens"].get<int>());
}

/// Checks an answer or a part of a stream, but for its choices. `usage` has the types that "usage"
/// may have; it is empty if there must be none.
inline void check_answer_of(const nlohmann::json& answer, const std::string& object,
                            const std::string& id, const std::string& usage) {
  check_shape(answer,
              "id:string object:string created:integer model:string choices:array "
              "system_fingerprint:string" +
                  (usage.empty() ? "" : " usage:" + usage));
  CHECK(answer["object"] == object);
  CHECK(answer["id"].get<std::string>().starts_with(id));
  if (answer.contains("usage") && !answer["usage"].is_null()) check_usage(answer["usage"]);
}

/// Checks an answer of POST /v1/completions: a whole one, which has "usage", or a part of a stream.
inline void check_completion(const nlohmann::json& answer, const std::string& usage) {
  check_answer_of(answer, "text_completion", "cmpl-", usage);
  for (const nlohmann::json& choice : answer["choices"]) {
    check_shape(choice, "text:string index:integer logprobs:null|object finish_reason:null|string");
    if (choice["logprobs"].is_null()) continue;
    check_shape(choice["logprobs"],
                "tokens:array token_logprobs:array top_logprobs:null|array text_offset:array");
    const std::size_t count = choice["logprobs"]["tokens"].size();
    for (const auto& [name, list] : choice["logprobs"].items()) {
      CHECK((list.is_null() || list.size() == count));
    }
  }
}

inline void check_chat_logprobs(const nlohmann::json& logprobs) {
  if (logprobs.is_null()) return;
  check_shape(logprobs, "content:array refusal:null");
  for (const nlohmann::json& token : logprobs["content"]) {
    check_shape(token, "token:string logprob:number bytes:array top_logprobs:array");
    for (const nlohmann::json& top : token["top_logprobs"]) {
      check_shape(top, "token:string logprob:number bytes:array");
    }
  }
}

/// Checks a whole answer of POST /v1/chat/completions.
inline void check_chat(const nlohmann::json& answer) {
  check_answer_of(answer, "chat.completion", "chatcmpl-", "object");
  for (const nlohmann::json& choice : answer["choices"]) {
    check_shape(choice, "index:integer message:object logprobs:null|object finish_reason:string");
    check_shape(choice["message"], "role:string content:string refusal:null");
    CHECK(choice["message"]["role"] == "assistant");
    check_chat_logprobs(choice["logprobs"]);
  }
}

/// Checks a part of a stream of POST /v1/chat/completions.
inline void check_chat_chunk(const nlohmann::json& chunk, const std::string& usage) {
  check_answer_of(chunk, "chat.completion.chunk", "chatcmpl-", usage);
  for (const nlohmann::json& choice : chunk["choices"]) {
    check_shape(choice,
                "index:integer delta:object logprobs:null|object finish_reason:null|string");
    check_chat_logprobs(choice["logprobs"]);
    std::string present;
    for (const char* const member : {"role:string", "content:string", "refusal:null"}) {
      const std::string text(member);
      if (choice["delta"].contains(text.substr(0, text.find(':')))) present += " " + text;
    }
    check_shape(choice["delta"], present);
  }
}

/// Checks the body of an error, and returns its message.
inline std::string check_error(const nlohmann::json& body) {
  check_shape(body, "error:object");
  check_shape(body["error"], "message:string type:string param:null|string code:null|string");
  return body["error"]["message"];
}

/// Appends a part of a choice: texts and lists grow, members of objects do so, too, and other
/// values take the place of null.
inline void append_part(nlohmann::json& whole, const nlohmann::json& part) {
  if (whole.is_string() && part.is_string()) {
    whole = whole.get<std::string>() + part.get<std::string>();
  } else if (whole.is_array() && part.is_array()) {
    whole.insert(whole.end(), part.begin(), part.end());
  } else if (whole.is_object() && part.is_object()) {
    for (const auto& [name, value] : part.items()) append_part(whole[name], value);
  } else if (whole.is_null()) {
    whole = part;
  } else {
    CHECK((part.is_null() || part == whole));
  }
}

/// Joins the parts of a stream of completions: returns the choices of a whole answer. Checks that
/// each choice has one reason why it ended, in its last part.
inline nlohmann::json joined(const std::vector<nlohmann::json>& chunks) {
  std::map<std::size_t, nlohmann::json> choices;
  for (const nlohmann::json& chunk : chunks) {
    for (const nlohmann::json& part : chunk["choices"]) {
      const auto [at, is_first] = choices.try_emplace(part["index"], part);
      if (is_first) continue;
      CHECK(at->second["finish_reason"].is_null());
      append_part(at->second, part);
    }
  }
  nlohmann::json list = nlohmann::json::array();
  for (auto& [index, choice] : choices) list.push_back(std::move(choice));
  return list;
}

/// The same for a chat. `usage` has the types that "usage" may have, except in a last part that has
/// no choices.
inline nlohmann::json joined_chat(std::vector<nlohmann::json> chunks,
                                  const std::string& usage = "") {
  std::set<std::size_t> begun;
  for (nlohmann::json& chunk : chunks) {
    check_chat_chunk(chunk, chunk["choices"].empty() ? "object" : usage);
    for (nlohmann::json& part : chunk["choices"]) {
      const bool is_first = begun.insert(part["index"].get<std::size_t>()).second;
      CHECK(part["delta"].value("role", "none") == (is_first ? "assistant" : "none"));
      part["message"] = part["delta"];
      part.erase("delta");
    }
  }
  return joined(chunks);
}

}  // namespace gpt2::test
