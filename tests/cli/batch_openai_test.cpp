// Tests gpt2 batch with requests of OpenAI's API, and --format openai: answers as OpenAI's batch
// API gives them.
#include <tuple>

#include "support/batch.h"
#include "support/test.h"

namespace gpt2::test::batch_openai_test {

namespace {

std::string request(const json& body, const std::string& id = "r",
                    const std::string& url = "/v1/completions") {
  const json line = {{"custom_id", id}, {"method", "POST"}, {"url", url}, {"body", body}};
  return line.dump() + '\n';
}

Outcome answer(const Batch& batch, const Words& more = {}) {
  return run(joined_words({"batch", "in", "-o", "out", "--format", "openai", "--quiet"}, more),
             {.directory = batch.directory.path()});
}

constexpr std::size_t kLineStride = 1048576;  // the distance of the sequences of two lines

}  // namespace

// requests_completions_test has the members of the body.
TEST_CASE("an answer has the members that OpenAI documents, and the texts of requests") {
  const json bodies[] = {{{"model", "x"}, {"prompt", "Tom"}},
                         {{"prompt", {"One day", "The cat"}}, {"n", 2}, {"user", "u"}}};
  const Batch batch(request(bodies[0], "a") + request(bodies[1], "b"));
  const Outcome outcome = answer(batch);
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  const auto found = batch.records();
  REQUIRE(found.size() == 2);
  CHECK(found[0]["custom_id"] == "a");
  CHECK(found[0]["error"].is_null());
  CHECK(found[0]["id"].is_string());
  CHECK(found[0]["response"]["status_code"] == 200);
  CHECK(found[0]["response"]["request_id"].is_string());
  CHECK(found[0]["response"]["body"]["model"] == "gpt2-stories");
  for (std::size_t i = 0; i < 2; ++i) {
    const Door door = {stories(), {{"sequence", i * kLineStride}}};
    CHECK(found[i]["response"]["body"]["choices"] ==
          test::answer("completions", bodies[i], door)["choices"]);
  }
}

TEST_CASE("chats, responses and embeddings are answered, also without --format openai") {
  const json messages = {{{"role", "system"}, {"content", "A story."}},
                         {{"role", "user"}, {"content", "Where is the cat?"}}};
  const json bodies[] = {{{"messages", messages}, {"max_tokens", 9}, {"n", 2}},
                         {{"input", "Hi"}, {"max_output_tokens", 9}},
                         {{"input", {"The cat", "A dog"}}, {"pooling", "last"}}};
  const std::string lines = request(bodies[0], "a", "/v1/chat/completions") +
                            request(bodies[1], "b", "/v1/responses") +
                            request(bodies[2], "c", "/v1/embeddings");
  const Batch openai(lines), own(lines);
  CHECK(answer(openai).status == 0);
  CHECK(own.run({"--logprobs", "2"}).status == 0);  // which only prompts and texts have as a number
  const auto responses = openai.records(), records = own.records();
  REQUIRE(responses.size() == 3);
  REQUIRE(records.size() == 3);
  const char* const contents[] = {"choices", "output", "data"};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(responses[i]["custom_id"] == std::string(1, static_cast<char>('a' + i)));
    CHECK(records[i]["custom_id"] == responses[i]["custom_id"]);
    CHECK(records[i]["line"] == i);
    CHECK(records[i]["id"].get<std::string>().size() == 16);
    CHECK(records[i]["object"] == responses[i]["response"]["body"]["object"]);
    if (i != 1) CHECK(records[i][contents[i]] == responses[i]["response"]["body"][contents[i]]);
  }
  const Door door = {stories()}, second = {stories(), {{"sequence", kLineStride}}};
  CHECK(records[0]["choices"] == test::answer("chat", bodies[0], door)["choices"]);
  CHECK(records[1]["output"].at(0)["content"] ==
        test::answer("responses", bodies[1], second)["output"][0]["content"]);
  CHECK(records[2]["data"] == test::answer("embeddings", bodies[2], door)["data"]);

  // Without a url, the members say what a line is.
  const Batch plain(bodies[0].dump() + "\n" + json{{"prompt", "Tom"}}.dump() + "\n" +
                    bodies[2].dump() + "\n");
  CHECK(plain.run().status == 0);
  CHECK(plain.records().at(0)["choices"] == records[0]["choices"]);
  CHECK(plain.records().at(1)["text"] == record_of({{"prompt", "Tom"}}, 1)["text"]);
  CHECK(plain.records().at(2)["data"] == records[2]["data"]);
}

TEST_CASE("a request with a mistake has an answer of OpenAI's form, and the others go on") {
  // Each body, and the "param" and "code" of its error; the readers' tests have all mistakes.
  const std::vector<std::tuple<json, json, json>> mistakes = {
      {{{"prompt", "a"}, {"num_beams", 2}}, "num_beams", nullptr},
      {{{"prompt", "a"}, {"warmth", 1}}, "warmth", "unknown_parameter"},
      {{{"text", "a"}}, "prompt", "missing_required_parameter"},
      {json::array(), "body", nullptr}};
  std::string input;
  for (const auto& [body, param, code] : mistakes) input += request(body);
  input += "{\"custom_id\": 7, \"prompt\": \"x\"}\n";
  const Batch batch(input + request({{"prompt", "Tom"}, {"stream", true}}));
  const Outcome outcome = answer(batch);
  CHECK(outcome.status == 3);
  CHECK(outcome.err.ends_with("gpt2: see \"response\" in out\n"));
  const auto found = batch.records();
  REQUIRE(found.size() == mistakes.size() + 2);
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    CAPTURE(i, found[i]);
    CHECK(found[i]["custom_id"] == "r");
    CHECK(found[i]["error"].is_null());
    CHECK(found[i]["response"]["status_code"] == 400);
    const json& error = found[i]["response"]["body"]["error"];
    CHECK(error["type"] == "invalid_request_error");
    CHECK(error.at("param") == std::get<1>(mistakes[i]));
    CHECK(error.at("code") == std::get<2>(mistakes[i]));
  }
  CHECK(found[mistakes.size()]["response"]["body"]["error"]["param"] == "custom_id");
  CHECK(found.back()["response"]["status_code"] == 200);
  CHECK(answer(batch).status == 3);  // the errors of the run before count
}

TEST_CASE("answers are resumed and shared out as the command's own records are") {
  const Batch batch(
      request({{"prompt", {"One day", "The cat"}}, {"n", 2}, {"max_tokens", 3}}, "a") +
      request({{"prompt", "Tom"}, {"n", 0}}, "b") +
      request({{"prompt", "Tom"}, {"max_tokens", 3}}, "c"));
  CHECK(answer(batch).status == 3);
  const std::string whole = batch.read();
  for (std::size_t length = 0; length <= whole.size(); length += 397) {
    CAPTURE(length);
    batch.directory.write("out", whole.substr(0, length));
    REQUIRE(answer(batch).status == 3);
    REQUIRE(batch.read() == whole);
  }
  for (const char* const share : {"0/2", "1/2"})
    CHECK(answer(batch, {"--shard", share}).status == 0);
  CHECK(batch.read_shares(2) == whole);
}

}  // namespace gpt2::test::batch_openai_test
