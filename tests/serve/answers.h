#pragma once

#include "support/alphabet_model.h"
#include "support/openai.h"
#include "support/test.h"
#include "support/test_server.h"

namespace gpt2::test {

using nlohmann::json;

/// Returns the parts of a stream. Checks that it ends as it should.
inline std::vector<json> chunks_of(const HttpResponse& response) {
  CHECK(response.status == 200);
  CHECK(response.is_complete);
  std::vector<std::string> events = response.events();
  REQUIRE(!events.empty());
  CHECK(events.back() == "[DONE]");
  events.pop_back();
  std::vector<json> chunks;
  for (const std::string& event : events) chunks.push_back(json::parse(event));
  return chunks;
}

/// Returns the arguments of a server of the alphabet model, whose texts are known and short to
/// compute.
inline Words alphabet(const Words& more = {}) {
  return joined_words(more, {"-m", alphabet_model()});
}

/// A request whose answer is known.
inline const json kNormal = {{"prompt", "x"}, {"temperature", 0}, {"max_tokens", 10}};

inline const std::string kNormalRequest = http_request("POST", "/v1/completions", kNormal.dump());

/// Returns the header with a key.
inline std::string bearer(const std::string& key) {
  return "Authorization: Bearer " + key + "\r\n";
}

inline void check_normal(const HttpResponse& response) {
  CAPTURE(response.body);
  REQUIRE(response.status == 200);
  CHECK(response.json()["choices"][0]["text"] ==
        "yz \xc3\xa9"
        "abcde");
}

/// Checks that the server still answers.
inline void check_serves(const TestServer& server) {
  check_normal(server.post("/v1/completions", kNormal));
}

/// Returns the text that a whole stream of a completion has.
inline std::string streamed_text(const HttpResponse& response) {
  std::string text;
  for (const json& part : chunks_of(response)) {
    text += part["choices"][0]["text"].get<std::string>();
  }
  return text;
}

/// A request for a text without an end, as a stream or not.
inline std::string endless(bool stream) {
  json body = {{"prompt", "a"}, {"max_tokens", 1000000000}, {"overflow", "slide"}};
  body.update({{"ignore_eos", true}, {"stream", stream}});
  return http_request("POST", "/v1/completions", body.dump());
}

/// Requests that for several seconds take passes of their own, which other texts do not share: beam
/// searches, the log-probabilities of prompts, and embeddings.
inline std::vector<std::string> requests_with_own_passes() {
  const std::vector<std::string> texts(2000, std::string(1000, 'a')), letters(2000, "a");
  const json beams = {{"prompt", letters}, {"num_beams", 8}, {"max_tokens", 1000}},
             echo = {{"prompt", texts}, {"echo", true}, {"logprobs", 0}, {"max_tokens", 0}},
             vectors = {{"input", texts}};
  return {http_request("POST", "/v1/completions", beams.dump()),
          http_request("POST", "/v1/completions", echo.dump()),
          http_request("POST", "/v1/embeddings", vectors.dump())};
}

}  // namespace gpt2::test
