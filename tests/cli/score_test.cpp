// Runs gpt2 score and gpt2 embed as processes and compares what they print with what the library
// computes.
#include "gpt2/score.h"

#include <csignal>

#include "gpt2/embed.h"
#include "support/alphabet_model.h"
#include "support/bundled_model.h"
#include "support/command.h"
#include "support/is_slow.h"
#include "support/test.h"

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

Perplexity by_library(const std::string& text, const ScoreOptions& options = {}) {
  const std::vector<std::vector<TokenId>> texts = {bundled::tokenizer().encode(text)};
  return perplexity(gpt2::score(Engine::shared(bundled::model()), texts, options), texts,
                    bundled::tokenizer());
}

// requests_text_requests_test has all members.
void check_record(const Json& record, const Perplexity& expected) {
  CAPTURE(record.dump());
  CHECK(record.at("tokens") == expected.tokens);
  CHECK(record.at("logprob") == -expected.nll);
}

}  // namespace

TEST_CASE("score prints what the library computes, as text and as JSON") {
  const Perplexity expected = by_library(kText, {.context = 16, .stride = 5});
  const Words options = {"--context", "16", "--stride", "5"};
  const Json record = Json::parse(score_well(joined_words(options, {"--json"})).out);
  check_record(record, expected);
  CHECK(record["context"] == 16);
  CHECK(record["stride"] == 5);
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

TEST_CASE("score reads a file or standard input, whose last newline is a part of the text") {
  const TemporaryDirectory place;
  const std::string file = place.write("text", kText + "\n").string();
  const Outcome expected = score_well({"--json"}, kText + "\n");
  check_record(Json::parse(expected.out), by_library(kText + "\n"));
  CHECK(score_well({"--json", "-"}, kText + "\n").out == expected.out);
  CHECK(score_well({file, "--json", "-t", "1"}, "").out == expected.out);
  const std::string plain = score_well({}, "The cat").out;
  CHECK(plain.find("+-") == std::string::npos);  // one window has no standard error
  CHECK(plain.find(" in 1 window of 512 tokens") != std::string::npos);
  CHECK(plain.find(" by word (1 word)\n") != std::string::npos);
  check_refused({"score", place.write("story.txt", "A").string()}, 1,
                {"story.txt", "two tokens", "found 1"});
}

TEST_CASE("Ctrl-C ends the scoring of a text without a result", "[terminal]") {
  std::string text;
  while (text.size() < (is_slow() ? 200'000 : 1'000'000)) text += "abcdefg ";
  const TemporaryDirectory place;
  place.write("book", text);
  Command command({"score", "book", "-m", alphabet_model()},
                  {.directory = place.path(), .terminal = true, .terminal_errors = true});
  command.await_error("1 %, ");
  command.send(SIGINT);
  CHECK(command.wait() == -SIGINT);
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

TEST_CASE("options and modes are members of the requests") {
  CHECK(score_well({"--bos", "--per-line"}, "a").status == 0);  // a text of one token
  const std::string question = R"({"context": "", "choices": ["Once", " sky"])";
  CHECK(score_well({"--bos", "--choices"}, question + "}").out ==
        score_well({"--choices"}, question + R"(, "add_bos": true})").out);
  const Words options = {"--logprobs", "3"};
  const std::string json = score_well(joined_words(options, {"--json"})).out;
  CHECK(json == score_well(joined_words(options, {"--jsonl"}), Json{{"text", kText}}.dump()).out);
  CHECK(json_lines(score_well(options).out) ==
        Json::parse(json).at("logprobs").get<std::vector<Json>>());  // a line for each token
  CHECK(score_well({"--json", "--per-line"}).out == score_well({"--per-line"}).out);
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
  for (const std::size_t i : {0u, 199u, 399u}) check_record(records[i], by_library(lines[i]));
  CHECK(score_well({"--per-line"}, "").out == "");
}

TEST_CASE("a line that has no answer becomes an error record, and the command fails") {
  for (const Words& command : {Words{"score", "--per-line"}, {"embed"}}) {
    const Outcome outcome =
        run(command, {.input = "One day\n\n" + std::string(9999, '.') + "\nA dog\n"});
    const bool is_score = command[0] == "score";
    CHECK(outcome.status == 1);
    CHECK(outcome.err.starts_with(is_score ? "gpt2: standard input: 1 of 4 lines failed"
                                           : "gpt2: standard input: 2 of 4 lines failed"));
    const auto records = json_lines(outcome.out);
    REQUIRE(records.size() == 4);
    for (const std::size_t i : {0u, 3u}) CHECK(records[i].contains("tokens"));
    CHECK(records[1].at("error").get<std::string>().starts_with("line 2: "));
    CHECK(records[2].contains("error") != is_score);  // a long text is scored in windows
  }
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
  check_record(records[1], by_library("The cat"));
}

TEST_CASE("--jsonl and --choices read objects, and refuse every other line") {
  const Json ids = bundled::tokenizer().encode("One\nday");
  const auto records =
      json_lines(score_well({"--jsonl"}, R"({"text": "One\nday", "id": 7})"
                                         "\r\n" +
                                             Json{{"token_ids", ids}}.dump() + "\n")
                     .out);
  REQUIRE(records.size() == 2);
  check_record(records[0], by_library("One\nday"));
  CHECK(records[1] == records[0]);
  const std::string question = R"({"context": "Once upon a", "choices": [" moon", " time"]})";
  CHECK(Json::parse(score_well({"--choices"}, question).out).at("best") == 1);
  const std::pair<std::string, std::vector<std::pair<std::string, std::string>>> modes[] = {
      {"--jsonl",
       {{"", "an empty line"},
        {"{\"text\":", "column 9"},
        {"[1, 2]", "array"},
        {"{}", "\"token_ids\""},
        {R"({"text":"a","token_ids":[]})", "both"}}},
      {"--choices", {{R"({"context": "a"})", "\"choices\""}}}};
  for (const auto& [mode, lines] : modes) {
    std::string input;
    for (const auto& [line, fact] : lines) input += line + '\n';
    const Outcome outcome = score({mode}, input);
    CHECK(outcome.status == 1);
    const auto errors = json_lines(outcome.out);
    REQUIRE(errors.size() == lines.size());
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const std::string error = errors[i].at("error");
      CHECK(error.starts_with("line " + std::to_string(i + 1) + ": "));
      CHECK(error.find(lines[i].second) != std::string::npos);
    }
  }
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

TEST_CASE("score and embed refuse invalid arguments") {
  const std::pair<Words, Words> cases[] = {
      {{"score", "--context", "1"}, {"--context", "from 2 to 512", "found 1"}},
      {{"score", "--context", "9", "--stride", "10"}, {"--stride: ", "9", "10"}},
      {{"score", "--jsonl", "--choices"}, {"cannot be combined with"}},
      {{"score", "--choices", "--stride", "9"}, {"cannot be combined with"}},
      {{"embed", "--pooling", "max"}, {"--pooling", "mean|last", "'max'"}},
      {{"embed", "--layer", "7"}, {"--layer: ", "from 0 to 6", "7"}}};
  for (const auto& [arguments, facts] : cases) check_refused(arguments, 2, facts);
}

TEST_CASE("embed writes the library's vectors as JSON") {
  const std::vector<std::string> texts = {"The cat sat down.", "One day", "A dog"};
  std::string input, lines, tokens;
  std::vector<std::vector<TokenId>> ids;
  for (const std::string& text : texts) {
    input += text + '\n';
    lines += Json{{"text", text}}.dump() + '\n';
    for (const TokenId id : ids.emplace_back(bundled::tokenizer().encode(text))) {
      tokens += std::to_string(id) + ' ';
    }
    tokens += '\n';
  }
  const auto check = [&](const Words& words, const EmbedOptions& options,
                         const std::string& given) {
    CAPTURE(words);
    const Outcome outcome = run(joined_words({"embed"}, words), {.input = given});
    CHECK(outcome.err == "");
    CHECK(outcome.status == 0);
    const auto expected = embed(Engine::shared(bundled::model()), ids, options);
    const auto records = json_lines(outcome.out);
    REQUIRE(records.size() == expected.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      CHECK(records[i].at("tokens") == ids[i].size());
      // The digits in the JSON stand for the exact float.
      CHECK(records[i].at("embedding").get<std::vector<float>>() == expected[i]);
    }
  };
  check({}, {}, input);
  check({"--pooling", "last", "--jsonl"}, {.pooling = Pooling::last}, lines);
  check({"--layer", "0", "-t", "1", "--tokens"}, {.layer = 0}, tokens);
}

}  // namespace gpt2::test::score_test
