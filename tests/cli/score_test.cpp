// Runs gpt2 score as a process and compares what it prints with what the library computes.
#include "gpt2/score.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "support/alphabet_model.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/is_slow.h"
#include "support/temporary_directory.h"

namespace gpt2::test::score_test {

using Json = nlohmann::json;

namespace {

const std::string kText =
    "Once upon a time there was a cat. The cat was very happy.\n"
    "One day, the cat saw a big dog. The dog said, \"Hello, cat!\"";

// Runs the command on the bundled model, with kText or another standard input.
Outcome score(const Words& arguments, const std::string& input = kText) {
  return run(joined_words({"score"}, arguments), {.input = input});
}

Outcome score_well(const Words& arguments, const std::string& input = kText) {
  const Outcome outcome = score(joined_words({"--quiet"}, arguments), input);  // it may take long
  CAPTURE(arguments);
  CHECK(outcome.err == "");
  CHECK(outcome.status == 0);
  return outcome;
}

// Lines of input, and what the error that answers each must name.
using Refusals = std::vector<std::pair<std::string, std::string>>;

void check_refused_lines(const char* mode, const Refusals& lines) {
  std::string input;
  for (const auto& [line, fact] : lines) input += line + '\n';
  const Outcome outcome = score({mode}, input);
  CHECK(outcome.status == 1);
  const auto errors = json_lines(outcome.out);
  REQUIRE(errors.size() == lines.size());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    CAPTURE(lines[i].first);
    const std::string error = errors[i].at("error");
    CHECK(error.starts_with("line " + std::to_string(i + 1) + ": "));
    CHECK(error.find(lines[i].second) != std::string::npos);
  }
}

struct Scored {
  std::vector<TokenId> tokens;
  TextScore score;
  Perplexity perplexity;
};

Scored by_library(const std::string& text, const ScoreOptions& options = {}) {
  Scored found{bundled::tokenizer().encode(text), {}, {}};
  const std::span texts(&found.tokens, 1);
  found.score = gpt2::score(Engine::shared(bundled::model()), texts, options).front();
  found.perplexity = perplexity({&found.score, 1}, texts, bundled::tokenizer());
  return found;
}

// requests_score_test has all members.
void check_record(const Json& record, const Perplexity& expected) {
  CAPTURE(record.dump());
  CHECK(record.at("tokens") == expected.tokens);
  CHECK(record.at("logprob") == -expected.nll);
}

}  // namespace

TEST_CASE("score prints what the library computes, as text and as JSON") {
  const Perplexity expected = by_library(kText, {.context = 16, .stride = 5}).perplexity;
  const Words options = {"--context", "16", "--stride", "5"};
  Words json = options;
  json.push_back("--json");
  const std::vector<Json> records = json_lines(score_well(json).out);
  REQUIRE(records.size() == 1);
  check_record(records[0], expected);
  CHECK(records[0]["context"] == 16);
  CHECK(records[0]["stride"] == 5);
  CHECK(expected.windows > 2);

  char line[200];
  std::snprintf(line, sizeof line,
                "tokens         %zu in %zu windows of 16 tokens, stride 5\n"
                "perplexity     %.6g +- %.2g by token\n",
                expected.tokens, expected.windows, expected.by_token.value,
                expected.by_token.standard_error);
  const std::string out = score_well(options).out;
  CAPTURE(out);
  CHECK(out.starts_with(line));
  std::snprintf(line, sizeof line, "%.6g +- %.2g by word (%zu words)\n", expected.by_word.value,
                expected.by_word.standard_error, expected.words);
  CHECK(out.find(line) != std::string::npos);
  std::snprintf(line, sizeof line, "\nbits per byte  %.6g +- ", expected.bits_per_byte.value);
  CHECK(out.find(line) != std::string::npos);
  std::snprintf(line, sizeof line, "\nHuggingFace    %.6g by its current recipe, %.6g by its ",
                expected.hf_weighted, expected.hf_unweighted);
  CHECK(out.find(line) != std::string::npos);
}

TEST_CASE("score reads a file or standard input, and shows the options that it used") {
  const TemporaryDirectory place;
  place.write("text", kText);
  const Outcome expected = score_well({"--json"});
  check_record(Json::parse(expected.out), by_library(kText).perplexity);
  CHECK(Json::parse(expected.out)["context"] == 512);
  CHECK(Json::parse(expected.out)["stride"] == 256);
  CHECK(score_well({"--json", "-"}).out == expected.out);
  CHECK(score_well({(place.path() / "text").string(), "--json"}, "").out == expected.out);
  CHECK(score_well({"--json", "-t", "1"}).out == expected.out);
  const std::string plain = score_well({}).out;
  CHECK(plain.find("+-") == std::string::npos);  // one window has no standard error
  CHECK(plain.find(" in 1 window of 512 tokens") != std::string::npos);
  CHECK(score_well({}, "The cat").out.find(" by word (1 word)\n") != std::string::npos);
}

TEST_CASE("Ctrl-C ends the scoring of a text without a result", "[terminal]") {
  std::string text;
  while (text.size() < (is_slow() ? 200'000 : 4'000'000)) text += "abcdefg ";
  const TemporaryDirectory place;
  place.write("book", text);
  Command command({"score", "book", "-m", alphabet_model()},
                  {.directory = place.path(), .terminal = true, .terminal_errors = true});
  command.await_error("1 %, ");
  command.send(SIGINT);
  CHECK(command.wait() == -SIGINT);
  CHECK(command.out == "");
}

TEST_CASE("work of more than ten seconds reports itself in a log") {
  if (is_slow()) return;  // a sanitizer finds nothing more here
  std::string text;
  while (text.size() < 8'000'000) text += "abcdefg ";
  const TemporaryDirectory place;
  place.write("book", text);
  const Words words = {"score", "book", "-m", alphabet_model(), "-t", "1"};
  Command command(words, {.directory = place.path()});
  // The next line would come after 30 seconds.
  std::this_thread::sleep_for(std::chrono::seconds(12));
  command.send(SIGINT);
  CHECK(command.wait() == -SIGINT);
  CHECK(std::regex_match(command.err, std::regex("gpt2: scoring book: \\d+ %, .* left\n")));
  CHECK(command.out == "");
}

TEST_CASE("--tokens reads ids, and then nothing is counted by word or byte") {
  std::string input;
  for (const TokenId id : bundled::tokenizer().encode(kText)) input += std::to_string(id) + ' ';
  const std::string plain = score_well({"--tokens"}, input).out;
  CHECK(plain.find("perplexity ") != std::string::npos);
  CHECK(plain.find("by word") == std::string::npos);
  CHECK(plain.find("bits") == std::string::npos);
  check_refused({"score", "--tokens"}, 1, {"token id 2", "0 to 4095", "'4096'"},
                {.input = "1 4096"});
}

TEST_CASE("--bos is the member add_bos of the requests") {
  CHECK(score_well({"--bos", "--per-line"}, "a").status == 0);  // a text of one token
  CHECK(score_well({"--bos", "--jsonl"}, R"({"text": "a"})").out ==
        score_well({"--jsonl"}, R"({"text": "a", "add_bos": true})").out);
  const std::string question = R"({"context": "", "choices": ["Once", " sky"])";
  CHECK(score_well({"--bos", "--choices"}, question + "}").out ==
        score_well({"--choices"}, question + R"(, "add_bos": true})").out);
}

TEST_CASE("--logprobs prints a line for each token, those that the JSON has") {
  const Words options = {"--logprobs", "3"};
  const Json record = Json::parse(score_well(joined_words(options, {"--json"})).out);
  CHECK(json_lines(score_well(options).out) == record.at("logprobs").get<std::vector<Json>>());
}

TEST_CASE("--json prints one record for each text, with its tokens if they are asked for") {
  const Outcome lines = score_well({"--jsonl", "--logprobs", "1"}, Json{{"text", kText}}.dump());
  CHECK(score_well({"--json", "--logprobs", "1"}).out == lines.out);
  CHECK(score_well({"--json", "--per-line"}).out == score_well({"--per-line"}).out);
  // A newline at the end is a part of the text.
  check_record(json_lines(score_well({"--json"}, kText + "\n").out).at(0),
               by_library(kText + "\n").perplexity);
}

TEST_CASE("--per-line scores every line by itself, in order") {
  // Enough lines for several groups of passes.
  std::string input;
  std::vector<std::string> lines;
  for (int i = 0; i < 400; ++i) {
    lines.push_back("The cat number " + std::to_string(i) + " was very happy to see the dog.");
    input += lines.back() + '\n';
  }
  const auto records = json_lines(score_well({"--per-line"}, input).out);
  REQUIRE(records.size() == 400);
  for (const std::size_t i : {0u, 1u, 199u, 398u, 399u}) {
    check_record(records[i], by_library(lines[i]).perplexity);
  }
  CHECK(score_well({"--per-line"}, "").out == "");
  CHECK(json_lines(score_well({"--per-line"}, "One day\nThe cat").out).size() == 2);
}

TEST_CASE("a line that cannot be scored becomes an error record, and the command fails") {
  const Outcome outcome = score({"--per-line"}, "One day\n\nA\nThe cat\n");
  CHECK(outcome.status == 1);
  CHECK(outcome.err.starts_with("gpt2: standard input: 2 of 4 lines failed"));
  const auto records = json_lines(outcome.out);
  REQUIRE(records.size() == 4);
  check_record(records[0], by_library("One day").perplexity);
  for (const std::size_t i : {1u, 2u}) {
    const std::string error = records[i].at("error");
    CHECK(error.starts_with("line " + std::to_string(i + 1) + ": expected a text of two tokens"));
    CHECK(error.ends_with("found " + std::to_string(i - 1)));
  }
  check_record(records[3], by_library("The cat").perplexity);
}

TEST_CASE("lines are answered as they come, whatever the length of the input") {
  Command command({"score", "--per-line"}, {.pipe = true});
  command.write("One day\nThe c");
  command.read(1);
  CHECK(json_lines(command.out).size() == 1);
  command.write("at\n");
  command.read(command.out.size() + 1);
  command.close_input();
  CHECK(command.wait() == 0);
  const auto records = json_lines(command.out);
  REQUIRE(records.size() == 2);
  check_record(records[1], by_library("The cat").perplexity);
}

TEST_CASE("--jsonl reads texts and token ids, and refuses every other record") {
  const auto ids = bundled::tokenizer().encode("One\nday");
  const auto records = json_lines(
      score_well({"--jsonl", "--logprobs", "1"}, R"({"text": "One\nday", "id": 7})"
                                                 "\r\n" +
                                                     Json{{"token_ids", ids}}.dump() + "\n" +
                                                     Json{{"text", ids}}.dump() + "\n")
          .out);
  REQUIRE(records.size() == 3);
  check_record(records[0], by_library("One\nday").perplexity);
  CHECK(records[0].at("logprobs").size() == ids.size());
  CHECK(records[1] == records[0]);
  CHECK(records[2] == records[0]);
  check_refused_lines("--jsonl", {{"", "an empty line"},
                                  {"{\"text\":", "column 9"},
                                  {"[1, 2]", "array"},
                                  {"{}", "\"token_ids\""},
                                  {R"({"text":"a","token_ids":[]})", "both"},
                                  {R"({"text":7})", "text: "}});
  // Without a tokenizer, there are no texts.
  const std::string error =
      json_lines(score({"--jsonl", "--tokens"}, "{\"text\":\"a b\"}").out)[0].at("error");
  CHECK(error.find("no tokenizer") != std::string::npos);
}

// requests_choices_test has the numbers.
TEST_CASE("--choices tells which continuation the model prefers") {
  const Outcome outcome =
      score_well({"--choices"}, R"({"context": "Once upon a", "choices": [" moon", " time"]})");
  CHECK(Json::parse(outcome.out).at("best") == 1);
  check_refused_lines("--choices", {{R"({"context": "a"})", "\"choices\""},
                                    {R"({"context": "a", "choices": ["b", ""]})", "choice 2 "}});
}

TEST_CASE("a terminal shows the progress of scoring, and standard output the answer alone",
          "[terminal]") {
  const TemporaryDirectory place;
  std::string text;
  for (int i = 0; i < 20; ++i) text += kText;
  place.write("text", text);
  const std::string file = (place.path() / "text").string();
  Command command({"score", "--context", "64", "--stride", "32", "-m", "gpt2-stories", file},
                  {.terminal = true, .terminal_errors = true});
  command.await_error("... 100 %");
  command.await_error("\r\x1b[K");
  CHECK(command.wait() == 0);
  CHECK(command.out == score_well({"--context", "64", "--stride", "32"}, text).out);
}

TEST_CASE("score refuses what it cannot do in one line") {
  const TemporaryDirectory place;
  const std::string file = place.write("story.txt", "A").string();
  check_refused({"score", file}, 1, {file, "two tokens", "found 1"});
  check_refused({"score"}, 1, {"standard input", "found 1"}, {.input = "A"});
  const std::string both = "cannot be combined with";
  for (const auto& [arguments, facts] : std::vector<std::pair<Words, Words>>{
           {{"--context", "1"}, {"--context", "from 2 to 512", "found 1"}},
           {{"--context", "9", "--stride", "10"}, {"--stride: ", "9", "10"}},
           {{"--logprobs", "101"}, {"--logprobs", "from 0 to 100"}},
           {{"a", "b"}, {"'b'"}},
           {{"--jsonl", "--choices"}, {both}},
           {{"--choices", "--context", "9"}, {both}},
           {{"--choices", "--stride", "9"}, {both}}}) {
    check_refused(joined_words({"score"}, arguments), 2, facts);
  }
}

}  // namespace gpt2::test::score_test
