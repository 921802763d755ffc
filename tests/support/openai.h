#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "serve/schema.h"
#include "support/catch.h"

// The parts of OpenAI's streams, as requests in the test's own process give them.

namespace gpt2::test {

/// Joins the parts of a stream of completions: returns the choices of a whole answer. Checks that
/// each choice has one reason why it ended, in its last part.
inline nlohmann::json joined(const std::vector<nlohmann::json>& chunks) {
  using nlohmann::json;
  std::map<std::size_t, json> choices;
  for (const json& chunk : chunks) {
    for (const json& part : chunk["choices"]) {
      const auto [at, is_first] = choices.try_emplace(part["index"], part);
      if (is_first) continue;
      json& choice = at->second;
      CHECK(choice["finish_reason"].is_null());
      choice["finish_reason"] = part["finish_reason"];
      choice["text"] = choice["text"].get<std::string>() + part["text"].get<std::string>();
      for (const json& id : part.value("token_ids", json::array())) {
        choice["token_ids"].push_back(id);
      }
      if (part["logprobs"].is_null()) continue;
      if (choice["logprobs"].is_null()) choice["logprobs"] = json::object();
      for (const auto& [name, list] : part["logprobs"].items()) {
        json& whole = choice["logprobs"][name];
        for (const json& one : list) whole.push_back(one);
      }
    }
  }
  json list = json::array();
  for (auto& [index, choice] : choices) list.push_back(std::move(choice));
  return list;
}

/// The same for a chat. `usage` has the types that "usage" may have, except in a last part that has
/// no choices.
inline nlohmann::json joined_chat(const std::vector<nlohmann::json>& chunks,
                                  const std::string& usage = "") {
  using nlohmann::json;
  std::map<std::size_t, json> choices;
  for (const json& chunk : chunks) {
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

}  // namespace gpt2::test
