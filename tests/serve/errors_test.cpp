// Tests the answer of gpt2 serve to a wrong request: its status, and the "param" and "code" that
// OpenAI's API documents. tests/requests tests what is wrong. Bodies are JSON texts. The model
// takes 1,024 tokens, and TEXT stands for 1,025.
#include <string>
#include <vector>

#include "serve/hostile.h"
#include "support/catch.h"
#include "support/openai.h"
#include "support/test_server.h"

namespace gpt2::test::errors_test {

using nlohmann::json;

namespace {

const TestServer& server() {
  static const TestServer one(alphabet());
  return one;
}

json error_of(const std::string& path, const json& body) {
  const HttpResponse response = server().post(path, body);
  CAPTURE(path, body.dump().substr(0, 200), response.body);
  CHECK(response.status == 400);
  check_error(response.json());
  CHECK(response.json()["error"]["type"] == "invalid_request_error");
  return response.json()["error"];
}

const json kMissing = "missing_required_parameter", kUnknown = "unknown_parameter",
           kTooLong = "context_length_exceeded";

struct Refusal {
  std::string body;
  json param, code;
};

void check_refusals(const std::string& path, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    std::string body = refusal.body;
    if (const std::size_t at = body.find("TEXT"); at != body.npos) {
      body.replace(at, 4, std::string(1025, 'a'));
    }
    const json error = error_of(path, json::parse(body));
    CAPTURE(refusal.body, error);
    CHECK(error["param"] == refusal.param);
    CHECK(error["code"] == refusal.code);
  }
}

}  // namespace

TEST_CASE("every endpoint names the member with the mistake, and its kind, as OpenAI does") {
  check_refusals("/v1/completions",
                 {{R"({})", "prompt", kMissing},
                  {R"({"prompt": "a", "temperature": "hot"})", "temperature", {}},
                  {R"({"prompt": ["a", "TEXT"]})", "prompt", kTooLong},
                  {R"({"prompt": "a", "suppress_tokens": [300]})", "suppress_tokens", {}}});
  check_refusals("/v1/chat/completions",
                 {{R"({"messages": [{"role": "user"}]})", "messages[0].content", kMissing}});
  check_refusals("/v1/responses", {{R"({"input": "a", "n": 2})", "n", kUnknown}});
  check_refusals("/v1/embeddings", {{R"({"input": ["a", ""]})", "input[1]", {}}});
  check_refusals("/tokenize",
                 {{R"({})", "prompt", kMissing}, {R"({"prompt": "a", "x": 1})", "x", kUnknown}});
  check_refusals("/detokenize",
                 {{R"({})", "tokens", kMissing}, {R"({"tokens": [257]})", "tokens[0]", {}}});
  check_refusals("/inspect", {{R"({"prompt": "TEXT"})", "prompt", kTooLong}});
}

}  // namespace gpt2::test::errors_test
