// Runs gpt2 score and gpt2 embed as processes: they print what the requests and the library
// compute.
#include "gpt2/embed.h"

#include <csignal>

#include "base/text.h"
#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::score_test {

namespace {

const std::string kText =
    "Once upon a time there was a cat. The cat was very happy.\n"
    "One day, the cat saw a big dog. The dog said, \"Hello, cat!\"";

// What the command writes for the bundled model, with kText or another standard input.
std::string score(const Words& arguments, const std::string& input = kText) {
  return output_of(joined_words({"score"}, arguments), {.input = input});
}

// The record of a text. requests_text_requests_test compares it with the library.
json record_of(const std::string& text, const json& options = json::object()) {
  json body = {{"text", text}};
  body.update(options);
  return answer("score", body, {stories()});
}

}  // namespace

TEST_CASE("score prints the record of a text, in words and as JSON") {
  const json record = record_of(kText, {{"context", 16}, {"stride", 5}});
  const Words options = {"--context", "16", "--stride", "5"};
  CHECK(json::parse(score(joined_words(options, {"--json"}))) == record);
  const auto number = [&](const std::string& name) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6g +- %.2g", record[name].get<double>(),
                  record[name + "_error"].get<double>());
    return std::string(text);
  };
  char recipes[100];
  std::snprintf(recipes, sizeof recipes,
                "\nHuggingFace    %.6g by its current recipe, %.6g by its ",
                record["hf_weighted_perplexity"].get<double>(),
                record["hf_unweighted_perplexity"].get<double>());
  const std::string out = score(options);
  for (const std::string& part :
       {concat("tokens         ", record["tokens"].dump(), " in ", record["windows"].dump(),
               " windows of 16 tokens, stride 5\nperplexity     ", number("perplexity")),
        number("word_perplexity") + " by word (" + record["words"].dump() + " words)\n",
        number("byte_perplexity") + " by byte (" + record["bytes"].dump() + " bytes)\n",
        "\nbits per byte  " + number("bits_per_byte") + "\n", std::string(recipes)}) {
    CAPTURE(out, part);
    CHECK(out.find(part) != std::string::npos);
  }
}

TEST_CASE("score reads a file or standard input, whose last newline is a part of the text") {
  const TemporaryDirectory place;
  const std::string file = place.write("text", kText + "\n").string();
  const std::string expected = score({"--json"}, kText + "\n");
  CHECK(json::parse(expected) == record_of(kText + "\n"));
  CHECK(score({"--json", "-"}, kText + "\n") == expected);
  CHECK(score({file, "--json", "-t", "1"}, "") == expected);
  const std::string plain = score({}, "The cat");
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
  for (const TokenId id : stories().ids(kText)) input += std::to_string(id) + ' ';
  const std::string plain = score({"--tokens"}, input);
  CHECK(plain.find("perplexity ") != std::string::npos);
  CHECK(plain.find("by word") == std::string::npos);
  CHECK(plain.find("bits") == std::string::npos);
  check_refused({"score", "--tokens"}, 1, {"token id 2", "0 to 4095", "'4096'"},
                {.input = "1 4096"});
}

TEST_CASE("options and modes are members of the requests") {
  CHECK(score({"--bos", "--per-line"}, "a") != "");  // a text of one token
  const std::string question = R"({"context": "", "choices": ["Once", " sky"])";
  CHECK(score({"--bos", "--choices"}, question + "}") ==
        score({"--choices"}, question + R"(, "add_bos": true})"));
  const Words options = {"--logprobs", "3"};
  const std::string record = score(joined_words(options, {"--json"}));
  CHECK(record == score(joined_words(options, {"--jsonl"}), json{{"text", kText}}.dump()));
  CHECK(json_lines(score(options)) ==
        json::parse(record).at("logprobs").get<std::vector<json>>());  // a line for each token
  CHECK(score({"--json", "--per-line"}) == score({"--per-line"}));
}

TEST_CASE("--per-line scores every line by itself, in order") {
  // Enough lines for several groups of passes.
  std::string input;
  std::vector<std::string> lines;
  for (int i = 0; i < 400; ++i) {
    lines.push_back("The cat number " + std::to_string(i) + " was very happy to see the dog.");
    input += lines.back() + '\n';
  }
  const auto records = json_lines(score({"--per-line"}, input));
  REQUIRE(records.size() == 400);
  for (const std::size_t i : {0u, 199u, 399u}) CHECK(records[i] == record_of(lines[i]));
  CHECK(score({"--per-line"}, "") == "");
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
  CHECK(records[1] == record_of("The cat"));
}

TEST_CASE("--jsonl and --choices read objects, and refuse every other line") {
  const json ids = stories().ids("One\nday");
  const auto records = json_lines(score({"--jsonl"}, R"({"text": "One\nday", "id": 7})"
                                                     "\r\n" +
                                                         json{{"token_ids", ids}}.dump() + "\n"));
  REQUIRE(records.size() == 2);
  CHECK(records[0] == record_of("One\nday"));
  CHECK(records[1] == records[0]);
  const json question = {{"context", "Once upon a"}, {"choices", {" moon", " time"}}};
  CHECK(json::parse(score({"--choices"}, question.dump())) ==
        answer("choices", question, {stories()}));
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
    const Outcome outcome = run({"score", mode}, {.input = input});
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
  CHECK(command.out == score({"--context", "64", "--stride", "32"}, text));
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
    lines += json{{"text", text}}.dump() + '\n';
    for (const TokenId id : ids.emplace_back(stories().ids(text))) {
      tokens += std::to_string(id) + ' ';
    }
    tokens += '\n';
  }
  const auto check = [&](const Words& words, const EmbedOptions& options,
                         const std::string& given) {
    const auto records = json_lines(output_of(joined_words({"embed"}, words), {.input = given}));
    const auto expected = embed(stories().engine, ids, options);
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
