#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/http_client.h"
#include "support/openai.h"
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

/// Returns the parts of a stream. Checks that it ends as it should.
inline std::vector<nlohmann::json> chunks_of(const HttpResponse& response) {
  CHECK(response.status == 200);
  CHECK(response.is_complete);
  std::vector<std::string> events = response.events();
  REQUIRE(!events.empty());
  CHECK(events.back() == "[DONE]");
  events.pop_back();
  std::vector<nlohmann::json> chunks;
  for (const std::string& event : events) chunks.push_back(nlohmann::json::parse(event));
  return chunks;
}

}  // namespace gpt2::test
