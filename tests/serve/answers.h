#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/http_client.h"
#include "support/openai.h"
#include "support/test_server.h"

namespace gpt2::test {

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
