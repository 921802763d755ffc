#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/catch.h"

// The members of OpenAI's answers and their types, as
// https://platform.openai.com/docs/api-reference documents them.

namespace gpt2::test {

/// The types that a member may have, as nlohmann::json names them: "string", "number", "array",
/// "object", "boolean", "null". "integer" is a number without a fraction.
using Types = std::set<std::string>;

/// The members that an object must have, and no others.
using Shape = std::map<std::string, Types>;

inline void check_shape(const nlohmann::json& value, const Shape& shape) {
  CAPTURE(value);
  REQUIRE(value.is_object());
  for (const auto& [name, types] : shape) {
    CAPTURE(name);
    REQUIRE(value.contains(name));
    const nlohmann::json& member = value[name];
    const bool is_whole = member.is_number_integer() && types.contains("integer");
    CHECK((is_whole || types.contains(member.type_name())));
  }
  for (const auto& [name, member] : value.items()) {
    CAPTURE(name);
    CHECK(shape.contains(name));
  }
}

inline void check_usage(const nlohmann::json& usage) {
  check_shape(usage, {{"prompt_tokens", {"integer"}},
                      {"completion_tokens", {"integer"}},
                      {"total_tokens", {"integer"}}});
  CHECK(usage["total_tokens"] ==
        usage["prompt_tokens"].get<int>() + usage["completion_tokens"].get<int>());
}

inline const Shape kHead = {{"id", {"string"}},       {"object", {"string"}},
                            {"created", {"integer"}}, {"model", {"string"}},
                            {"choices", {"array"}},   {"system_fingerprint", {"string"}}};

/// Checks an answer of POST /v1/completions: a whole one, which has "usage", or a part of a stream.
/// `usage` has the types that "usage" may have; it is empty if there must be none.
inline void check_completion(const nlohmann::json& answer, const Types& usage) {
  Shape shape = kHead;
  if (!usage.empty()) shape["usage"] = usage;
  check_shape(answer, shape);
  CHECK(answer["object"] == "text_completion");
  CHECK(answer["id"].get<std::string>().starts_with("cmpl-"));
  for (const nlohmann::json& choice : answer["choices"]) {
    check_shape(choice, {{"text", {"string"}},
                         {"index", {"integer"}},
                         {"logprobs", {"null", "object"}},
                         {"finish_reason", {"null", "string"}}});
    if (choice["logprobs"].is_null()) continue;
    check_shape(choice["logprobs"], {{"tokens", {"array"}},
                                     {"token_logprobs", {"array"}},
                                     {"top_logprobs", {"array"}},
                                     {"text_offset", {"array"}}});
    const std::size_t count = choice["logprobs"]["tokens"].size();
    for (const auto& [name, list] : choice["logprobs"].items()) CHECK(list.size() == count);
  }
  if (answer.contains("usage") && !answer["usage"].is_null()) check_usage(answer["usage"]);
}

inline void check_chat_logprobs(const nlohmann::json& logprobs) {
  if (logprobs.is_null()) return;
  check_shape(logprobs, {{"content", {"array"}}, {"refusal", {"null"}}});
  for (const nlohmann::json& token : logprobs["content"]) {
    check_shape(token, {{"token", {"string"}},
                        {"logprob", {"number"}},
                        {"bytes", {"array"}},
                        {"top_logprobs", {"array"}}});
    for (const nlohmann::json& top : token["top_logprobs"]) {
      check_shape(top, {{"token", {"string"}}, {"logprob", {"number"}}, {"bytes", {"array"}}});
    }
  }
}

/// Checks a whole answer of POST /v1/chat/completions.
inline void check_chat(const nlohmann::json& answer) {
  Shape shape = kHead;
  shape["usage"] = {"object"};
  check_shape(answer, shape);
  CHECK(answer["object"] == "chat.completion");
  CHECK(answer["id"].get<std::string>().starts_with("chatcmpl-"));
  check_usage(answer["usage"]);
  for (const nlohmann::json& choice : answer["choices"]) {
    check_shape(choice, {{"index", {"integer"}},
                         {"message", {"object"}},
                         {"logprobs", {"null", "object"}},
                         {"finish_reason", {"string"}}});
    check_shape(choice["message"],
                {{"role", {"string"}}, {"content", {"string"}}, {"refusal", {"null"}}});
    CHECK(choice["message"]["role"] == "assistant");
    check_chat_logprobs(choice["logprobs"]);
  }
}

/// Checks a part of a stream of POST /v1/chat/completions.
inline void check_chat_chunk(const nlohmann::json& chunk, const Types& usage) {
  Shape shape = kHead;
  if (!usage.empty()) shape["usage"] = usage;
  check_shape(chunk, shape);
  CHECK(chunk["object"] == "chat.completion.chunk");
  if (chunk.contains("usage") && !chunk["usage"].is_null()) check_usage(chunk["usage"]);
  for (const nlohmann::json& choice : chunk["choices"]) {
    check_shape(choice, {{"index", {"integer"}},
                         {"delta", {"object"}},
                         {"logprobs", {"null", "object"}},
                         {"finish_reason", {"null", "string"}}});
    check_chat_logprobs(choice["logprobs"]);
    const Shape members = {{"role", {"string"}}, {"content", {"string"}}, {"refusal", {"null"}}};
    Shape present;
    for (const auto& [name, types] : members) {
      if (choice["delta"].contains(name)) present[name] = types;
    }
    check_shape(choice["delta"], present);
  }
}

/// Checks the body of an error, and returns its message.
inline std::string check_error(const nlohmann::json& body) {
  check_shape(body, {{"error", {"object"}}});
  check_shape(body["error"], {{"message", {"string"}},
                              {"type", {"string"}},
                              {"param", {"null", "string"}},
                              {"code", {"null", "string"}}});
  return body["error"]["message"];
}

}  // namespace gpt2::test
