// Tests gpt2 batch with requests of OpenAI's API, and --format openai: answers as OpenAI's batch
// API gives them.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/batch.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/is_slow.h"
#include "support/temporary_directory.h"

namespace gpt2::test::batch_openai_test {

using nlohmann::json;

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

// What gpt2 generate writes for a prompt with this sequence.
json alone(const std::string& prompt, std::size_t sequence, const Words& more = {}) {
  const Words words = {"--json", "--sequence", std::to_string(sequence), "-p", prompt};
  return json::parse(run(joined_words(words, more)).out);
}

constexpr std::size_t kLineStride = 1048576;  // the distance of the sequences of two lines

}  // namespace

TEST_CASE("an answer has the members that OpenAI documents, and the texts of generate") {
  const Batch batch(request({{"model", "x"}, {"prompt", "Tom"}}, "a") +
                    request({{"prompt", {"One day", "The cat"}}, {"n", 2}, {"user", "u"}}, "b"));
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
  const json& body = found[0]["response"]["body"];
  CHECK(body["object"] == "text_completion");
  CHECK(body["id"].get<std::string>().starts_with("cmpl-"));
  CHECK(body["created"].is_number_integer());
  CHECK(body["model"] == "gpt2-stories");
  const json expected = alone("Tom", 0, {"-n", "16"});
  CHECK(body["choices"] == json{{{"text", expected["text"]},
                                 {"index", 0},
                                 {"logprobs", nullptr},
                                 {"finish_reason", "length"}}});
  const std::size_t prompt = expected["prompt_token_ids"].size();
  CHECK(body["usage"] ==
        json{{"prompt_tokens", prompt}, {"completion_tokens", 16}, {"total_tokens", prompt + 16}});

  const json& choices = found[1]["response"]["body"]["choices"];
  REQUIRE(choices.size() == 4);
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    const json one = alone(i < 2 ? "One day" : "The cat", kLineStride + i, {"-n", "16"});
    CHECK(choices[i]["text"] == one["text"]);
    CHECK(choices[i]["index"] == i);
    if (i % 2 == 0) tokens += one["prompt_token_ids"].size();
  }
  CHECK(found[1]["response"]["body"]["usage"]["prompt_tokens"] == tokens);
}

// The lines of all kinds of requests but for completions, with their answers from other commands.
struct Kinds {
  json messages = {{{"role", "system"}, {"content", "A story."}},
                   {{"role", "user"}, {"content", "Where is the cat?"}}};
  std::string lines =
      request({{"messages", messages}, {"max_tokens", 9}, {"n", 2}}, "a", "/v1/chat/completions") +
      request({{"input", "Hi"}, {"max_output_tokens", 9}}, "b", "/v1/responses") +
      request({{"input", {"The cat", "A dog"}}, {"pooling", "last"}}, "c", "/v1/embeddings");

  // The answer to line i, without what surrounds it in its record.
  static void check(std::size_t i, const json& answer) {
    CAPTURE(i, answer);
    const std::string chat = "A story.\n\nUser: Where is the cat?\nAssistant:";
    const Words stop = {"-n", "9", "--stop", "\nUser:"};
    const auto text_of = [&](const std::string& prompt, std::size_t sequence) {
      const std::string text = alone(prompt, sequence, stop)["text"];
      return text.starts_with(' ') ? text.substr(1) : text;
    };
    if (i == 0) {
      CHECK(answer["object"] == "chat.completion");
      for (std::size_t j = 0; j < 2; ++j) {
        CHECK(answer["choices"].at(j)["message"]["content"] == text_of(chat, j));
      }
    } else if (i == 1) {
      CHECK(answer["object"] == "response");
      CHECK(answer["output"].at(0)["content"].at(0)["text"] ==
            text_of("User: Hi\nAssistant:", kLineStride));
    } else {
      const auto vectors =
          json_lines(run({"embed", "--pooling", "last"}, {.input = "The cat\nA dog\n"}).out);
      for (std::size_t j = 0; j < 2; ++j) {
        const auto found = answer["data"].at(j)["embedding"].get<std::vector<double>>();
        const auto raw = vectors.at(j)["embedding"].get<std::vector<double>>();
        double square = 0.0;
        for (const double number : raw) square += number * number;
        REQUIRE(found.size() == raw.size());
        for (std::size_t k = 0; k < raw.size(); ++k) {
          CHECK(found[k] == Approx(raw[k] / std::sqrt(square)).epsilon(1e-5));
        }
      }
    }
  }
};

TEST_CASE("chats, responses and embeddings are answered, also without --format openai") {
  const Kinds kinds;
  const Batch openai(kinds.lines), own(kinds.lines);
  CHECK(answer(openai).status == 0);
  CHECK(own.run({"--logprobs", "2"}).status == 0);  // which only prompts and texts have as a number
  const auto responses = openai.records(), records = own.records();
  REQUIRE(responses.size() == 3);
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(responses[i]["custom_id"] == std::string(1, static_cast<char>('a' + i)));
    CHECK(records[i]["custom_id"] == responses[i]["custom_id"]);
    CHECK(records[i]["line"] == i);
    CHECK(records[i]["id"].get<std::string>().size() == 16);
    Kinds::check(i, responses[i]["response"]["body"]);
    Kinds::check(i, records[i]);
  }
  CHECK(responses[0]["response"]["body"]["id"].get<std::string>().starts_with("chatcmpl-"));

  // Without a url, the members say what a line is.
  const Batch plain(json{{"messages", kinds.messages}, {"max_tokens", 9}, {"n", 2}}.dump() + "\n" +
                    json{{"prompt", "Tom"}}.dump() + "\n" +
                    json{{"input", {"The cat", "A dog"}}, {"pooling", "last"}}.dump() + "\n");
  CHECK(plain.run().status == 0);
  Kinds::check(0, plain.records().at(0));
  CHECK(plain.records().at(1)["text"] == alone("Tom", 1, {"-n", "8"})["text"]);
  Kinds::check(2, plain.records().at(2));
}

TEST_CASE("the echo of an empty prompt is empty, and max_length is for each prompt") {
  const Batch batch(request({{"prompt", ""}, {"echo", true}, {"max_tokens", 3}}) +
                    request({{"prompt", {json::array({5, 6, 7}), json::array({5})}},
                             {"max_length", 4},
                             {"ignore_eos", true}}));
  CHECK(answer(batch).status == 0);
  const auto found = batch.records();
  const json one = alone("", 0, {"-n", "3"});
  CHECK(found.at(0)["response"]["body"]["choices"][0]["text"] == one["text"]);
  CHECK(found.at(1)["response"]["body"]["usage"] ==
        json{{"prompt_tokens", 4}, {"completion_tokens", 4}, {"total_tokens", 8}});
}

TEST_CASE("a request with a mistake has an answer of OpenAI's form, and the others go on") {
  struct Mistake {
    json body;
    std::string fact;  // in the message
    json param, code = nullptr;
  };
  const std::vector<Mistake> mistakes = {
      {{{"prompt", "a"}, {"n", 129}}, "129", "n"},
      {{{"prompt", "a"}, {"num_beams", 2}}, "beam search", "num_beams"},
      {{{"messages", {{{"role", "user"}, {"content", "Hi"}}}}},
       "\"prompt\"",
       "prompt",
       "missing_required_parameter"},
      {{{"prompt", "a"}, {"warmth", 1}}, "'warmth'", "warmth", "unknown_parameter"},
      {{{"text", "a"}}, "\"prompt\"", "prompt", "missing_required_parameter"},
      {json::array(), "an object", "body"}};
  std::string input;
  for (const Mistake& mistake : mistakes) input += request(mistake.body);
  input += "{\"custom_id\": 7, \"prompt\": \"x\"}\n";
  const Batch batch(input + request({{"prompt", "Tom"},
                                     {"stream", true},
                                     {"stream_options", {{"include_usage", true}}}}));
  const Outcome outcome = answer(batch);
  CHECK(outcome.status == 3);
  CHECK(outcome.err.ends_with("; see \"response\" in out\n"));
  const auto found = batch.records();
  REQUIRE(found.size() == mistakes.size() + 2);
  const json& of_id = found[mistakes.size()]["response"];
  CHECK(of_id["status_code"] == 400);
  CHECK(of_id["body"]["error"]["param"] == "custom_id");
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    CAPTURE(i, found[i]);
    CHECK(found[i]["custom_id"] == "r");
    CHECK(found[i]["error"].is_null());
    CHECK(found[i]["response"]["status_code"] == 400);
    const json& error = found[i]["response"]["body"]["error"];
    CHECK(error["message"].get<std::string>().find(mistakes[i].fact) != std::string::npos);
    CHECK(error["type"] == "invalid_request_error");
    CHECK(error.at("param") == mistakes[i].param);
    CHECK(error.at("code") == mistakes[i].code);
  }
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
  const std::size_t step = is_slow() ? 397 : 61;
  for (std::size_t length = 0; length <= whole.size(); length += step) {
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
