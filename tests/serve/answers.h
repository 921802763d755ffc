#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "serve/schema.h"
#include "support/catch.h"
#include "support/http_client.h"
#include "support/test_server.h"

namespace gpt2::test {

/// Returns OpenAI's finish_reason for the one that gpt2 generate writes.
inline std::string finish_reason_of(const nlohmann::json& written) {
  const std::string reason = written["finish_reason"];
  return reason == "end_of_text" || reason == "stop_string" ? "stop" : "length";
}

/// Checks that a choice is what gpt2 generate --json has written. If it has log-probabilities,
/// checks that they are those of --logprobs, bit for bit.
inline void check_same(const nlohmann::json& choice, const nlohmann::json& written) {
  CHECK(choice["text"] == written["text"]);
  CHECK(choice["finish_reason"] == finish_reason_of(written));
  if (choice["logprobs"].is_null()) return;
  const nlohmann::json& lists = choice["logprobs"];
  const nlohmann::json& scores = written["logprobs"];
  REQUIRE(lists["tokens"].size() == scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    CAPTURE(i);
    CHECK(lists["token_logprobs"][i] == scores[i]["logprob"]);
    const bool is_whole = scores[i]["text"] != "\xef\xbf\xbd";  // not a part of a character
    if (is_whole) CHECK(lists["tokens"][i] == scores[i]["text"]);
    for (const nlohmann::json& top : scores[i]["top"]) {
      const std::string text = top["text"];
      if (text.find("\xef\xbf\xbd") != text.npos) continue;
      CHECK(lists["top_logprobs"][i].at(text) == top["logprob"]);
    }
  }
}

/// Joins the parts of a stream of completions: returns the choices of a whole answer. Checks that
/// the stream ends as it should, and that each choice has one reason why it ended, in its last
/// part.
inline nlohmann::json joined(const HttpResponse& response) {
  using nlohmann::json;
  std::map<std::size_t, json> choices;
  for (const json& chunk : chunks_of(response)) {
    for (const json& part : chunk["choices"]) {
      const auto [at, is_first] = choices.try_emplace(part["index"], part);
      if (is_first) continue;
      json& choice = at->second;
      CHECK(choice["finish_reason"].is_null());
      choice["finish_reason"] = part["finish_reason"];
      choice["text"] = choice["text"].get<std::string>() + part["text"].get<std::string>();
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

}  // namespace gpt2::test
