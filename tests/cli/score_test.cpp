// Runs gpt2 score as a process and compares what it prints with what the library computes.
#include "gpt2/score.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <thread>

#include "support/alphabet_model.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/is_slow.h"
#include "support/temporary_directory.h"

namespace gpt2::test::score_test {

using Json = nlohmann::ordered_json;

namespace {

const std::string kText =
    "Once upon a time there was a cat. The cat was very happy.\n"
    "One day, the cat saw a big dog. The dog said, \"Hello, cat!\"";

// Runs the command on the bundled model, with kText or another standard input.
Outcome score(Words arguments, const std::string& input = kText) {
  arguments.insert(arguments.begin(), "score");
  return run(arguments, {.input = input});
}

Outcome score_well(Words arguments, const std::string& input = kText) {
  arguments.insert(arguments.begin(), "--quiet");  // under a sanitizer, it may take long
  const Outcome outcome = score(arguments, input);
  CAPTURE(arguments);
  CHECK(outcome.err == "");
  CHECK(outcome.status == 0);
  return outcome;
}

std::vector<Json> parsed(const std::string& out) {
  std::vector<Json> records;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) records.push_back(Json::parse(line));
  return records;
}

// Lines of input, and the beginning of the error that answers each.
using Refusals = std::vector<std::pair<std::string, std::string>>;

void check_refused_lines(const char* mode, const Refusals& lines) {
  std::string input;
  for (const auto& [line, message] : lines) input += line + '\n';
  const Outcome outcome = score({mode}, input);
  CHECK(outcome.status == 1);
  const auto errors = parsed(outcome.out);
  REQUIRE(errors.size() == lines.size());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    CAPTURE(lines[i].first);
    CHECK(errors[i].at("error").get<std::string>().starts_with("line " + std::to_string(i + 1) +
                                                               ": " + lines[i].second));
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

void check_record(const Json& record, const Perplexity& expected) {
  CAPTURE(record.dump());
  CHECK(record.at("tokens") == expected.tokens);
  CHECK(record.at("words") == expected.words);
  CHECK(record.at("bytes") == expected.bytes);
  CHECK(record.at("windows") == expected.windows);
  CHECK(record.at("logprob") == -expected.nll);
  const auto check = [&](const std::string& name, const Estimate& number) {
    CHECK(record.at(name) == number.value);
    const Json& error = record.at(name + "_error");
    CHECK((std::isnan(number.standard_error) ? error.is_null() : error == number.standard_error));
  };
  check("perplexity", expected.by_token);
  check("word_perplexity", expected.by_word);
  check("byte_perplexity", expected.by_byte);
  check("bits_per_byte", expected.bits_per_byte);
  CHECK(record.at("hf_weighted_perplexity") == expected.hf_weighted);
  CHECK(record.at("hf_unweighted_perplexity") == expected.hf_unweighted);
}

}  // namespace

TEST_CASE("score prints what the library computes, as text and as JSON") {
  const Perplexity expected = by_library(kText, {.context = 16, .stride = 5}).perplexity;
  const Words options = {"--context", "16", "--stride", "5"};
  Words json = options;
  json.push_back("--json");
  const std::vector<Json> records = parsed(score_well(json).out);
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

TEST_CASE("Ctrl-C ends the scoring of a text and prints the result so far", "[terminal]") {
  std::string text;
  while (text.size() < (is_slow() ? 200'000 : 4'000'000)) text += "abcdefg ";
  const TemporaryDirectory place;
  place.write("book", text);
  for (const bool json : {false, true}) {
    Words words = {"score", "book", "-m", alphabet_model()};
    if (json) words.push_back("--json");
    Command command(words, {.directory = place.path(), .terminal = true, .terminal_errors = true});
    command.await_error("1 %, ");  // so that a part of it has been scored, which comes at once
    command.send(SIGINT);
    CHECK(command.wait() == -SIGINT);
    CAPTURE(command.out);
    if (!json) {
      CHECK(command.out.starts_with("partial        the beginning of the text, until"));
      CHECK(command.out.find("\nperplexity     ") != std::string::npos);
      continue;
    }
    const Json record = Json::parse(command.out);
    CHECK(record.at("partial") == true);
    CHECK(record.at("tokens") > 1000);
    const auto tokens = record.at("tokens").get<std::size_t>() + 1;
    const std::vector<TokenId> ids =
        Tokenizer::load(alphabet_model()).encode(text.substr(0, tokens));
    const auto scores = gpt2::score(Engine(Model::load(alphabet_model())), {&ids, 1}, {});
    CHECK(record.at("logprob") == -perplexity(scores).nll);
  }
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
  CHECK(command.out.starts_with("partial "));
}

TEST_CASE("--tokens reads ids, and then nothing is counted by word or byte") {
  const std::vector<TokenId> ids = bundled::tokenizer().encode(kText);
  std::string input;
  for (const TokenId id : ids) input += std::to_string(id) + ' ';
  const Json record = Json::parse(score_well({"--tokens", "--json"}, input).out);
  CHECK(record["logprob"] == -by_library(kText).perplexity.nll);
  CHECK(record["word_perplexity"].is_null());
  CHECK(record["bits_per_byte"].is_null());
  const std::string plain = score_well({"--tokens"}, input).out;
  CHECK(plain.find("by word") == std::string::npos);
  CHECK(plain.find("bits") == std::string::npos);
  CHECK(score({"--tokens"}, "1 4096").err ==
        "gpt2: standard input: token id 2: expected a number from 0 to 4095, found '4096'\n");
}

namespace {

void check_token(const Json& token, TokenId id, const TokenLogprob& expected) {
  CAPTURE(token.dump());
  CHECK(token.at("id") == id);
  CHECK(token.at("text") == bundled::tokenizer().bytes(id));
  REQUIRE(token.at("top").size() == expected.top.size());
  if (std::isnan(expected.logprob)) {
    CHECK(token.at("logprob").is_null());
    CHECK(token.at("rank").is_null());
    return;
  }
  CHECK(token.at("logprob").get<float>() == expected.logprob);
  CHECK(token.at("rank") == expected.rank);
  for (std::size_t i = 0; i < expected.top.size(); ++i) {
    CHECK(token.at("top")[i].at("id") == expected.top[i].id);
    CHECK(token.at("top")[i].at("logprob").get<float>() == expected.top[i].logprob);
  }
}

}  // namespace

TEST_CASE("--logprobs prints a line for each token, with as many alternatives as asked for") {
  for (const std::size_t top : {0u, 3u}) {
    const Scored expected = by_library(kText, {.top_logprobs = top});
    const auto lines = parsed(score_well({"--logprobs", std::to_string(top)}).out);
    REQUIRE(lines.size() == expected.tokens.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      check_token(lines[i], expected.tokens[i], expected.score.tokens[i]);
    }
  }
  CHECK(score_well({"--logprobs"}).out == score_well({"--logprobs", "0"}).out);
}

TEST_CASE("--json prints one record for each text, with its tokens if they are asked for") {
  const Outcome lines = score_well({"--jsonl", "--logprobs", "1"}, Json{{"text", kText}}.dump());
  CHECK(score_well({"--json", "--logprobs", "1"}).out == lines.out);
  CHECK(score_well({"--json", "--per-line"}).out == score_well({"--per-line"}).out);
  // A newline at the end is a part of the text.
  check_record(parsed(score_well({"--json"}, kText + "\n").out).at(0),
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
  const auto records = parsed(score_well({"--per-line"}, input).out);
  REQUIRE(records.size() == 400);
  for (const std::size_t i : {0u, 1u, 199u, 398u, 399u}) {
    check_record(records[i], by_library(lines[i]).perplexity);
  }
  CHECK(score_well({"--per-line"}, "").out == "");
  CHECK(parsed(score_well({"--per-line"}, "One day\nThe cat").out).size() == 2);
}

TEST_CASE("a line that cannot be scored becomes an error record, and the command fails") {
  const Outcome outcome = score({"--per-line"}, "One day\n\nA\nThe cat\n");
  CHECK(outcome.status == 1);
  CHECK(outcome.err ==
        "gpt2: standard input: 2 of 4 lines failed: see \"error\" in their records\n");
  const auto records = parsed(outcome.out);
  REQUIRE(records.size() == 4);
  check_record(records[0], by_library("One day").perplexity);
  const std::string too_short =
      ": expected a text of two tokens or more, because nothing predicts the first one; found ";
  CHECK(records[1] == Json{{"error", "line 2" + too_short + "0"}});
  CHECK(records[2] == Json{{"error", "line 3" + too_short + "1"}});
  check_record(records[3], by_library("The cat").perplexity);
}

TEST_CASE("lines are answered as they come, whatever the length of the input") {
  Command command({"score", "--per-line"}, {.pipe = true});
  command.write("One day\nThe c");
  command.read(1);
  CHECK(parsed(command.out).size() == 1);
  command.write("at\n");
  command.read(command.out.size() + 1);
  command.close_input();
  CHECK(command.wait() == 0);
  const auto records = parsed(command.out);
  REQUIRE(records.size() == 2);
  check_record(records[1], by_library("The cat").perplexity);
}

TEST_CASE("a line that is too long is an error record, and a carriage return ends a line") {
  const Outcome outcome = score({"--per-line"}, std::string(5 << 20, 'a') + "\nOne day\r\n");
  const auto records = parsed(outcome.out);
  REQUIRE(records.size() == 2);
  CHECK(records[0].at("error") ==
        "line 1: the line has 5242880 bytes, but at most 4194304 are read: shorten it");
  check_record(records[1], by_library("One day").perplexity);
}

TEST_CASE("--jsonl reads texts and token ids, and refuses every other record") {
  const auto ids = bundled::tokenizer().encode("One\nday");
  const auto records =
      parsed(score_well({"--jsonl", "--logprobs", "1"}, R"({"text": "One\nday", "id": 7})"
                                                        "\r\n" +
                                                            Json{{"token_ids", ids}}.dump() + "\n" +
                                                            Json{{"text", ids}}.dump() + "\n")
                 .out);
  REQUIRE(records.size() == 3);
  const Scored expected = by_library("One\nday", {.top_logprobs = 1});
  for (const Json& record : records) {
    check_record(record, expected.perplexity);
    REQUIRE(record.at("logprobs").size() == ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      check_token(record["logprobs"][i], ids[i], expected.score.tokens[i]);
    }
  }

  const Refusals bad = {
      {"", "expected a JSON object, found an empty line"},
      {"{\"text\":", "invalid JSON at column 9"},
      {"{\"text\":\"\xff\"}", "invalid JSON"},
      {"[1, 2]", "the line is an array; expected an object"},
      {"{}", "expected either \"text\" or \"token_ids\", found neither"},
      {R"({"text":"a","token_ids":[]})", "expected either \"text\" or \"token_ids\", found both"},
      {R"({"text":7})", "text: expected a text or a list of token ids, found number"},
      {R"({"token_ids":"a b"})", "token_ids: expected a list of token ids, found string"},
      {R"({"token_ids":[1,2.5]})", "token_ids[1]: expected a token id from 0 to 4095, found 2.5"},
      {R"({"token_ids":[1,"\u0000"]})",
       "token_ids[1]: expected a token id from 0 to 4095, found \"\\u0000\""},
      {R"({"token_ids":[-1]})", "token_ids[0]: expected a token id from 0 to 4095, found -1"},
      {R"({"token_ids":[1,4096]})", "token_ids[1]: expected a token id from 0 to 4095, found 4096"},
      {R"({"token_ids":[18446744073709551615]})",
       "token_ids[0]: expected a token id from 0 to 4095, found 18446744073709551615"},
      {R"({"token_ids":[1e999]})", "invalid JSON"},
      {R"({"text":"a b","text":"c d"})", "key 'text' appears twice"},
  };
  check_refused_lines("--jsonl", bad);
  // Without a tokenizer, there are no texts.
  CHECK(parsed(score({"--jsonl", "--tokens"}, "{\"text\":\"a b\"}").out)[0].at("error") ==
        "line 1: with --tokens, there is no tokenizer for \"text\": give \"token_ids\"");
}

TEST_CASE("--choices tells which continuation the model prefers") {
  const Tokenizer& tokenizer = bundled::tokenizer();
  const std::vector<TokenId> context = tokenizer.encode("Once upon a");
  const std::vector<std::vector<TokenId>> choices = {
      tokenizer.encode(" moon"), tokenizer.encode(" time"), tokenizer.encode(" time, there was")};
  const auto expected = score_choices(Engine::shared(bundled::model()), context, choices);
  const Json by_ids = {{"context", context}, {"choices", choices}};
  const auto records = parsed(
      score_well({"--choices"},
                 R"({"context": "Once upon a", "choices": [" moon", " time", " time, there was"]})"
                 "\n" +
                     by_ids.dump())
          .out);
  REQUIRE(records.size() == 2);
  CHECK(records[0] == records[1]);
  const Json& record = records[0];
  REQUIRE(record.at("choices").size() == 3);
  const double bytes[] = {5, 5, 16};
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& choice = record["choices"][i];
    CHECK(choice.at("tokens") == choices[i].size());
    CHECK(choice.at("logprob") == expected[i].sum);
    CHECK(choice.at("logprob_per_token") == expected[i].mean);
    CHECK(choice.at("logprob_per_byte") == expected[i].sum / bytes[i]);
    CHECK(choice.at("greedy_match") == expected[i].greedy_match);
  }
  CHECK(record["choices"][1]["greedy_match"] == true);
  CHECK(record["choices"][0]["greedy_match"] == false);
  CHECK(record.at("best") == 1);

  const Refusals bad = {
      {"3", "the line is 3; expected an object"},
      {R"({"choices": [" a"]})", "expected \"context\", found no such key"},
      {R"({"context": "a"})", "expected \"choices\", found no such key"},
      {R"({"context": null, "choices": [" a"]})", "expected \"context\", found null"},
      {R"({"context": "a", "choices": null})", "expected \"choices\", found null"},
      {R"({"context": "a", "choices": " b"})",
       "choices: expected a list with a choice or more, found string"},
      {R"({"context": "a", "choices": []})",
       "choices: expected a list with a choice or more, found none"},
      {R"({"context": "a", "choices": [null]})",
       "choices[0]: expected a text or a list of token ids, found null"},
      {R"({"context": "a", "choices": ["b", ""]})", "choice 2 has no tokens: give at least one"},
      {R"({"context": "", "choices": ["b"]})", "the context has no tokens, "},
  };
  check_refused_lines("--choices", bad);
}

TEST_CASE("the best choice by token or byte may be another than the best one") {
  // The alphabet model continues a with b, so the log-probability of "bcd" is nearly 0 and that of
  // "z" is not. A longer choice with one unlikely byte has a lower sum, but a higher mean.
  const Outcome outcome =
      run({"score", "-m", alphabet_model(), "--choices"},
          {.input = R"({"context": "a", "choices": ["z", "bcdefghijklx", "qr"]})"});
  CHECK(outcome.err == "");
  const Json record = Json::parse(outcome.out);
  CHECK(record.at("best_per_token") == 1);
  CHECK(record.at("best_per_byte") == 1);
  CHECK(record.at("choices")[1].at("tokens") == 12);
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
  const std::string too_short =
      ": expected a text of two tokens or more, because nothing predicts the first one; found 1\n";
  CHECK(score({}, "A").err == "gpt2: standard input" + too_short);
  const TemporaryDirectory place;
  const std::string file = place.write("story.txt", "A").string();
  CHECK(score({file}).err == "gpt2: " + file + too_short);
  CHECK(score({}, "A").status == 1);
  CHECK(score({"/nowhere"}).err == "gpt2: cannot read /nowhere: No such file or directory\n");
  const auto usage = [](const Words& arguments) {
    const Outcome outcome = score(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out == "");
    return outcome.err;
  };
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--context", "1"},
       "--context: expected 0 or a whole number from 2 to 1073741824, found '1'"},
      {{"--context", "513"}, "--context: expected at most 512, "},
      {{"--stride", "513"}, "--stride: expected at most 512, "},
      {{"--context", "9", "--stride", "10"}, "--stride: expected at most 9, "},
      {{"--logprobs", "4097"}, "--logprobs: expected a whole number from 0 to 4096, "},
      {{"--logprobs", "x"}, "--logprobs: expected a whole number, found 'x'"},
      {{"a", "b"}, "unexpected argument 'b'"}};
  for (const auto& [arguments, message] : cases) {
    CHECK(usage(arguments).starts_with("gpt2: " + message));
  }
  CHECK(usage({"--jsonl", "--choices"}).find("cannot be combined with") != std::string::npos);
  for (const std::string option : {"--context", "--stride"}) {
    CHECK(usage({"--choices", option, "9"}).find("cannot be combined with") != std::string::npos);
  }
}

}  // namespace gpt2::test::score_test
