// Tests the lines of gpt2 batch that are scored and not continued.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/batch.h"
#include "support/catch.h"
#include "support/command.h"

namespace gpt2::test::batch_score_test {

using nlohmann::json;

namespace {

const std::vector<std::string> kTexts = {
    R"({"text": "Once upon a time there was a cat."})", R"({"text": "Tom has a dog."})",
    R"({"text": "One day, Tom and the cat ran to the park. They were happy."})"};

const std::vector<std::string> kQuestions = {
    R"({"context": "The cat", "choices": [" sat", " moon", " was happy."]})",
    R"({"context": "Once upon", "choices": [[258, 401], " a time"]})"};

std::string in_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

// Lines of all kinds. Scored lines have different options, and stand between texts to write.
std::string mixed() {
  std::string text;
  for (int i = 0; i < 6; ++i) {
    text += numbered_prompts(2) + in_lines(kTexts) + in_lines(kQuestions) +
            R"({"text": "Tom has a dog. Tom likes the dog.", "context": 6, "stride": 3})"
            "\n"
            R"({"custom_id": "a", "body": {"text": "The dog ran.", "logprobs": 2}})"
            "\n";
  }
  return text;
}

// Checks that the records of batch are the same as those of `gpt2 score`, plus a line and an id.
void check_scores(const std::vector<std::string>& lines, const Words& batch_options,
                  const Words& score_options) {
  const Batch batch(in_lines(lines));
  const Outcome outcome = batch.run(batch_options);
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  const Outcome scored = run(joined_words({"score"}, score_options), {.input = in_lines(lines)});
  REQUIRE(scored.status == 0);
  const std::vector<json> expected = json_lines(scored.out);
  std::vector<json> found = batch.records();
  REQUIRE(found.size() == lines.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i]["line"] == i);
    CHECK(found[i]["id"].get<std::string>().size() == 16);
    found[i].erase("line");
    found[i].erase("id");
    CHECK(found[i] == expected.at(i));
  }
}

}  // namespace

TEST_CASE("scored lines have the records of gpt2 score") {
  check_scores(kTexts, {}, {"--jsonl"});
  check_scores(kTexts, {"--logprobs", "2"}, {"--jsonl", "--logprobs", "2"});
  check_scores(kQuestions, {}, {"--choices"});
  const Batch ids("{\"text\": [258, 401, 11]}\n");
  CHECK(ids.run({"--tokens"}).status == 0);
  const json record = json::parse(ids.read());
  const json expected =
      json::parse(run({"score", "--tokens", "--json"}, {.input = "258 401 11"}).out);
  for (const auto& [name, value] : expected.items()) CHECK(record.at(name) == value);
}

TEST_CASE("a line has its own options for scoring") {
  const std::string text = "Tom has a dog. Tom likes the dog.";
  const json line = {
      {"text", text}, {"context", 6}, {"stride", 3}, {"logprobs", 1}, {"add_bos", true}};
  const Batch batch(line.dump());
  CHECK(batch.run({"--samples", "3"}).status == 0);  // a line that is scored has one record
  const json record = json::parse(batch.read());
  const json expected = json::parse(
      run({"score", "--json", "--context", "6", "--stride", "3", "--logprobs", "1", "--bos"},
          {.input = text})
          .out);
  for (const auto& [name, value] : expected.items()) CHECK(record.at(name) == value);
}

TEST_CASE("a run with scored lines resumes where the output ends, with any number of threads") {
  const Batch batch(mixed());
  CHECK(batch.run({"-t", "1"}).status == 0);
  const std::string whole = batch.read();
  CHECK(json_lines(whole).size() == 54);
  for (const std::size_t length : {std::size_t{0}, whole.size() / 3, whole.size() - 10}) {
    batch.directory.write("out", whole.substr(0, length));
    INFO(length);
    CHECK(batch.run({"-t", "2"}).status == 0);
    CHECK(batch.read() == whole);
  }
  for (const std::string share : {"0/2", "1/2"}) {
    CHECK(batch.run({"--shard", share}).status == 0);
  }
  CHECK(batch.read_shares(2) == whole);
}

TEST_CASE("a line that cannot be scored has a record that says why") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"text": "A"})", "two tokens"},
      {R"({"text": "a b c", "prompt": "a"})", "'prompt'"},
      {R"({"text": "a b c", "top_k": 4})", "'top_k'"},
      {R"({"context": "a", "choices": ["b"], "text": "c"})", "'text'"},
  };
  std::string input;
  for (const auto& [line, message] : cases) input += line + '\n';
  const Batch batch(input);
  CHECK(batch.run().status == 3);
  const std::vector<json> found = batch.records();
  REQUIRE(found.size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(found[i]);
    CHECK(found[i].value("error", "").find(cases[i].second) != std::string::npos);
  }
}

}  // namespace gpt2::test::batch_score_test
