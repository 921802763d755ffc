// Tests the answers of gpt2 serve as HTTP carries them, whole and as streams, and the options of
// the command as defaults. What a request may say and what its answer has, tests/requests tests.
#include <string>
#include <utility>
#include <vector>

#include "serve/answers.h"
#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/openai.h"
#include "support/temporary_directory.h"
#include "support/test_server.h"

namespace gpt2::test::completions_test {

using nlohmann::json;

namespace {

const TestServer& server() {
  static const TestServer one;
  return one;
}

const json kMessages = {{{"role", "user"}, {"content", "Hello"}}};

}  // namespace

TEST_CASE("a completion is the text of gpt2 generate, whole and as a stream") {
  json body = {{"prompt", "Tom"}, {"n", 2}, {"logprobs", 3}, {"model", "gpt2-stories"}};
  const HttpResponse whole = server().post("/v1/completions", body);
  CHECK(whole.headers.at("content-type") == "application/json");
  const json answer = whole.json();
  check_completion(answer, "object");
  const auto written = generated("Tom", {"--samples", "2", "-n", "16"});
  REQUIRE(answer["choices"].size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(answer["choices"][i]["text"] == written[i]["text"]);
    CHECK(answer["choices"][i]["finish_reason"] == "length");
  }
  body["stream"] = true;
  const HttpResponse stream = server().post("/v1/completions", body);
  CHECK(stream.headers.at("content-type") == "text/event-stream");
  const std::vector<json> chunks = chunks_of(stream);
  for (const json& chunk : chunks) check_completion(chunk, "");
  CHECK(joined(chunks) == answer["choices"]);
}

TEST_CASE("a chat, whole and as a stream") {
  json body = {{"messages", kMessages}, {"max_tokens", 20}};
  const json answer = server().post("/v1/chat/completions", body).json();
  check_chat(answer);
  body["stream"] = true;
  CHECK(joined_chat(chunks_of(server().post("/v1/chat/completions", body))) == answer["choices"]);
}

TEST_CASE("the events of a response have their types as names") {
  json body = {{"input", "Hello"}, {"max_output_tokens", 20}};
  const json whole = server().post("/v1/responses", body).json();
  CHECK(whole["id"].get<std::string>().starts_with("resp_"));
  body["stream"] = true;
  const HttpResponse response = server().post("/v1/responses", body);
  CHECK(response.status == 200);
  json event;
  for (const std::string& text : response.events()) {
    event = json::parse(text);
    CHECK(response.body.find("event: " + event["type"].get<std::string>() + "\ndata: " + text) !=
          std::string::npos);
  }
  CHECK(event["type"] == "response.incomplete");
  CHECK(event["response"]["output"][0]["content"] == whole["output"][0]["content"]);
}

TEST_CASE("the options of gpt2 serve are the defaults of requests, and what a request says wins") {
  const TestServer one({"--temperature", "1.5", "--top-k", "5", "-n", "9", "--stop", "cat",
                        "--seed", "3", "--bad-words", "time"});
  const auto text = [&](const json& more) {
    const json body = with({{"prompt", "Once upon a"}}, more);
    return one.post("/v1/completions", body).json()["choices"][0]["text"];
  };
  const auto written = [](const Words& words) {
    const Words common = {"--stop", "cat", "--bad-words", "time"};
    return generated("Once upon a", joined_words(common, words))[0]["text"];
  };
  CHECK(text(json::object()) ==
        written({"--temperature", "1.5", "--top-k", "5", "-n", "9", "--seed", "3"}));
  CHECK(text({{"temperature", 0.3}, {"top_k", 0}, {"max_tokens", 4}, {"seed", 0}}) ==
        written({"--temperature", "0.3", "--top-k", "0", "-n", "4"}));
  const json chat = one.post("/v1/chat/completions", {{"messages", kMessages}}).json();
  CHECK(chat["usage"]["completion_tokens"] == 9);
}

TEST_CASE("--hf-defaults takes the model's generation config, but not its max_length") {
  const TemporaryDirectory directory;
  write_alphabet_model(directory.path());
  directory.write("generation_config.json", R"({"do_sample": false, "max_length": 3})");
  const TestServer one({"-m", "a=" + directory.path().string(), "--hf-defaults"});
  const json prompt = {{"prompt", "abcdef"}};
  CHECK(one.post("/v1/completions", prompt).json()["usage"]["completion_tokens"] == 16);
  const json rows = one.get("/options").json()["options"];
  for (const json& row : rows) {
    if (row["name"] == "temperature") CHECK(row["default"] == 0);
  }
}

TEST_CASE("with --seed random, each request has another seed unless it names one") {
  const TestServer one({"--seed", "random"});
  const auto text = [](const TestServer& of, const json& seed) {
    const json body = {{"prompt", "One"}, {"max_tokens", 30}, {"seed", seed}};
    return of.post("/v1/completions", body).json()["choices"][0]["text"];
  };
  CHECK(text(one, nullptr) != text(one, nullptr));
  CHECK(text(one, 5) == text(server(), 5));
}

}  // namespace gpt2::test::completions_test
