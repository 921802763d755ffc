// Tests gpt2 batch: what it writes, what it refuses, and how it resumes.
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/system/system.h"
#include "support/batch.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/is_slow.h"

namespace gpt2::test::batch_test {

using nlohmann::json;

namespace {

const std::string kPrompts = R"({"prompt": "Once upon a time", "max_new_tokens": 12}
{"prompt": "The cat", "do_sample": false, "custom_id": "cat", "stop_strings": [" had"]}
{"prompt": "", "temperature": 1.5, "top_k": 0, "top_p": 0.9, "seed": 18446744073709551615}
{"prompt": "One day", "repetition_penalty": 1.3, "no_repeat_ngram_size": 2, "stop": "."}
{"prompt": "Tom", "frequency_penalty": 1, "logit_bias": {"11": -100}, "logprobs": 2}
)";

// The arguments with which `gpt2 generate` writes the text of each of these lines.
const std::vector<Words> kAlone = {
    {"-n", "12", "Once upon a time"},
    {"--greedy", "--stop", " had", "-n", "8", "The cat"},
    {"--temperature", "1.5", "--top-k", "0", "--top-p", "0.9", "--seed", "18446744073709551615",
     "-n", "8", "-p", ""},
    {"--repetition-penalty", "1.3", "--no-repeat-ngram-size", "2", "--stop", ".", "-n", "8",
     "One day"},
    {"--frequency-penalty", "1", "--logit-bias", "11=-100", "--logprobs", "2", "-n", "8", "Tom"}};

}  // namespace

TEST_CASE("each record is the same as what generate writes for its line") {
  const Batch batch(kPrompts);
  const Outcome outcome = batch.run({"--samples", "2"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("gpt2: 5 lines, 0 errors; this run: "));
  const std::vector<json> found = batch.records();
  REQUIRE(found.size() == 10);
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO(found[i]);
    CHECK(found[i]["line"] == i / 2);
    CHECK(found[i]["sample"] == i % 2);
    CHECK(found[i]["sequence"] == i);
    CHECK(found[i].value("custom_id", "") == (i / 2 == 1 ? "cat" : ""));
    const json alone = json::parse(
        run(joined_words({"--json", "--sequence", std::to_string(i)}, kAlone[i / 2])).out);
    for (const char* const key : {"text", "token_ids", "finish_reason"}) {
      CHECK(found[i][key] == alone.at(key));
    }
    CHECK(found[i].contains("logprobs") == alone.contains("logprobs"));
    if (alone.contains("logprobs")) CHECK(found[i]["logprobs"] == alone["logprobs"]);
    CHECK(found[i]["prompt_tokens"] == alone["prompt_token_ids"].size());
  }
}

TEST_CASE("requests of OpenAI's batch format") {
  const Batch batch(
      R"({"custom_id": "r", "method": "POST", "url": "/v1/completions", "body": {"model": "x",)"
      R"( "prompt": "Tom", "max_tokens": 4, "temperature": 0, "n": 1, "stop": null, "user": "u"}})"
      "\n"
      R"({"custom_id": "c", "url": "/v1/chat", "body": {"messages": []}})"
      "\n"
      R"({"custom_id": "d", "method": "POST", "url": "/v1/completions"})"
      "\n"
      R"({"custom_id": "e", "method": "GET", "url": "/v1/completions", "body": {"prompt": "Tom"}})"
      "\n");
  CHECK(batch.run({"--samples", "2"}).status == 3);
  const std::vector<json> found = batch.records();
  REQUIRE(found.size() == 4);
  const json alone = json::parse(run({"--json", "--greedy", "-n", "4", "Tom"}).out);
  CHECK(found[0]["text"] == alone["text"]);
  CHECK(found[0]["custom_id"] == "r");
  CHECK(found[1]["custom_id"] == "c");
  for (const auto& [i, fact] :
       {std::pair{1, "/v1/chat/completions"}, {2, "\"body\""}, {3, "method: "}}) {
    CHECK(found[i]["error"].get<std::string>().find(fact) != std::string::npos);
  }
}

TEST_CASE("lines of plain text and of token ids") {
  const Batch batch("Once upon\r\n\nTom"), json_first("{\nTom");
  CHECK(batch.run().status == 0);  // the first line is no object
  CHECK(json_first.run().status == 3);
  CHECK(Batch("Tom\n{}").run({"--jsonl"}).status == 3);
  CHECK(Batch("{\nTom").run({"--lines"}).status == 0);
  const Outcome refused = Batch("\n{\"prompt\": \"Tom\"}").run();  // the first line says nothing
  CHECK(refused.status == 1);
  CHECK(refused.err.find("--jsonl") != std::string::npos);
  const std::vector<json> found = batch.records();
  REQUIRE(found.size() == 3);
  const std::vector<std::string> prompts = {"Once upon", "", "Tom"};
  for (std::size_t i = 0; i < 3; ++i) {
    const json alone = json::parse(
        run({"--json", "-n", "8", "--sequence", std::to_string(i), "-p", prompts[i]}).out);
    CHECK(found[i]["text"] == alone["text"]);
  }
  const Batch ids(R"({"token_ids": [443, 4.52e2]})"
                  "\n");
  CHECK(ids.run({"--tokens"}).status == 0);
  const json record = ids.records().at(0);
  CHECK(!record.contains("text"));
  CHECK(record["token_ids"] ==
        json::parse(run({"--json", "-n", "8", "Once upon"}).out)["token_ids"]);

  const std::string without_tokenizer = std::string(GPT2_TEST_DATA) + "/oracle/adapters/base";
  const Batch both("{\"prompt\": \"a\"}\n{\"prompt\": [7, 8]}\n");
  CHECK(both.run({"-m", without_tokenizer}).status == 3);
  const std::vector<json> answers = both.records();
  CHECK(answers.at(0)["error"].get<std::string>().starts_with("prompt: "));
  CHECK(answers.at(0)["error"].get<std::string>().find("no tokenizer") != std::string::npos);
  CHECK(answers.at(1)["token_ids"].size() == 8);
}

TEST_CASE("a line that is wrong has a record that says why, and the run goes on") {
  const std::string prompt = R"({"prompt": "a", )";
  // Each line, and what its message must name.
  const std::vector<std::pair<std::string, Words>> cases = {
      {"", {"an empty line"}},
      {" \r", {"an empty line"}},
      {"once", {"the line: invalid JSON at column 1"}},
      {"{\"prompt\": \"\xff\"}", {"the line: invalid JSON"}},
      {prompt + R"("temperature": NaN})", {"the line: invalid JSON"}},
      {std::string(1 << 20, '['), {"nested deeper than 128"}},
      {std::string(5 << 20, ' '), {"5242880 bytes", "4194304"}},
      {"[1]", {"the line", "array"}},
      {R"({"prompt": "a", "prompt": "b"})", {"'prompt'", "twice"}},
      {"{}", {"\"prompt\""}},
      {prompt + R"("token_ids": [1]})", {"\"prompt\"", "\"token_ids\"", "both"}},
      {R"({"prompt": ["a", "b"]})", {"prompt: ", "one text", "a list of 2"}},
      {R"({"prompt": []})", {"prompt: ", "one text", "a list of 0"}},
      {"{\"prompt\": \"" + std::string(1 << 20, 'a') + "\"}", {"the prompt has "}},
      {R"({"text": ["A", "B"]})", {"text[0]: ", "token id"}},
      {R"({"context": ["A", "B"], "choices": ["C"]})", {"context[0]: ", "token id"}},
      {R"({"url": "/v1/models", "body": {}})", {"url: ", "/v1/responses", "'/v1/models'"}},
      {prompt + R"("temperature": -1})", {"temperature: ", "100", "-1"}},
      {prompt + R"("n": 2})", {"n: ", "--samples, 1", "found 2"}},
      {prompt + R"("num_beams": 4})", {"num_beams: ", "beam search"}},
      {prompt + R"("sequence": 4})", {"sequence: ", "numbers"}},
      {prompt + R"("best_of": 2})", {"best_of: ", "--format openai"}},
      {prompt + R"("echo": true})", {"echo: ", "--format openai"}},
  };
  std::string input;
  for (const auto& [line, facts] : cases) input += line + '\n';
  const Batch batch(input + "{\"prompt\": \"Tom\"}\r\n");
  const std::string counts =
      concat("gpt2: ", cases.size() + 1, " lines, ", cases.size(), " errors; this run: ");
  const Outcome outcome = batch.run({"--jsonl"});
  CHECK(outcome.status == 3);
  CHECK(outcome.err.starts_with(counts + "8 tokens in "));
  CHECK(outcome.err.find("the first error of this run is: line 1: ") != std::string::npos);
  const std::vector<json> found = batch.records();
  REQUIRE(found.size() == cases.size() + 1);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(found[i]);
    CHECK(found[i]["line"] == i);
    for (const std::string& fact : cases[i].second) {
      CHECK(found[i].value("error", "").find(fact) != std::string::npos);
    }
  }
  CHECK(found.back()["finish_reason"] == "length");
  const Outcome again = batch.run({"--jsonl"});
  CHECK(again.status == 3);
  CHECK(again.err.starts_with(counts + "0 tokens in "));
}

TEST_CASE("members that are null are absent") {
  std::string input;
  for (const char* const name :
       {"text", "choices", "messages", "input", "sequence", "token_ids", "url", "body", "n"}) {
    input += json{{"prompt", "The cat"}, {name, nullptr}}.dump() + '\n';
  }
  const Batch batch(input + "{\"prompt\": null, \"token_ids\": [443, 452]}\n{\"prompt\": null}\n");
  CHECK(batch.run({"--greedy"}).status == 0);
  const std::vector<json> found = batch.records();
  REQUIRE(found.size() == 11);
  const auto alone = [](const char* prompt) {
    return json::parse(run({"--json", "--greedy", "-n", "8", "-p", prompt}).out)["text"];
  };
  for (std::size_t i = 0; i < 9; ++i) CHECK(found[i]["text"] == alone("The cat"));
  CHECK(found[9]["text"] == alone("Once upon"));
  CHECK(found[10]["text"] == alone(""));
}

TEST_CASE("a prompt that is too long loses its beginning with --truncate, or as its line says") {
  std::string text = "Once";
  for (int i = 0; i < 600; ++i) text += " upon";
  const Batch batch(json{{"prompt", text}}.dump() + "\n" +
                    json{{"prompt", text}, {"truncate", false}}.dump());
  CHECK(batch.run({"--truncate"}).status == 3);
  const std::vector<json> found = batch.records();
  const json alone = json::parse(run({"--json", "--truncate", "-n", "8", text}).out);
  CHECK(found.at(0)["text"] == alone["text"]);
  CHECK(found[0]["prompt_tokens"].get<int>() + found[0]["truncated"].get<int>() == 601);
  CHECK(found.at(1)["error"].get<std::string>().starts_with("the prompt has"));
}

TEST_CASE("--hf-defaults uses the model's generation config for what a line leaves open") {
  const TemporaryDirectory model;
  std::filesystem::copy(bundled::kDirectory, model.path());
  model.write("generation_config.json",
              R"({"do_sample": true, "temperature": 1.5, "top_k": 9, "max_length": 21})");
  const Batch batch("{\"prompt\": \"The cat\"}\n{\"prompt\": \"The cat\", \"top_k\": 1}\n");
  const Words with = {"-m", model.path().string(), "--hf-defaults"};
  const auto again = [&] {
    return run(joined_words({"batch", "in", "-o", "out"}, with),
               {.directory = batch.directory.path()});
  };
  CHECK(again().status == 0);
  const std::vector<json> found = batch.records();
  const json alone = json::parse(run(joined_words(with, {"--json", "The cat"})).out);
  CHECK(found[0]["token_ids"] == alone["token_ids"]);
  CHECK(found[1]["token_ids"] != found[0]["token_ids"]);
  // Another config would write other texts, so the run must not be resumed with it.
  model.write("generation_config.json", R"({"do_sample": true, "max_length": 22})");
  CHECK(again().status == 1);
  model.write("generation_config.json", R"({"num_beams": 4})");
  CHECK(again().err.starts_with("gpt2: --hf-defaults: num_beams"));
}

TEST_CASE("a run that is refused leaves no file behind, and no file that was there is removed") {
  const Batch batch(kPrompts);
  const auto is_there = [&] { return std::filesystem::exists(batch.directory.path() / "out"); };
  CHECK(batch.run({}, {"GPT2_TUNE=fast"}).status == 1);
  CHECK_FALSE(is_there());
  batch.directory.write("out", "");  // as mktemp makes it
  CHECK(batch.run({}, {"GPT2_TUNE=fast"}).status == 1);
  CHECK(is_there());
  std::filesystem::remove(batch.directory.path() / "out");
  batch.directory.write("in", "");
  CHECK(batch.run().status == 0);  // no lines have no records
  CHECK(is_there());
}

TEST_CASE("a run resumes where the output ends, and cuts off an incomplete record") {
  const Batch batch(kPrompts);
  CHECK(batch.run({"--samples", "2"}).status == 0);
  const std::string whole = batch.read();
  // Each length takes a run of the command, which takes a second under a sanitizer.
  const std::size_t step = is_slow() ? 197 : 29;
  for (std::size_t length = 0; length <= whole.size(); length += step) {
    batch.directory.write("out", whole.substr(0, length));
    INFO(length);
    REQUIRE(batch.run({"--samples", "2", "-t", "2"}).status == 0);
    REQUIRE(batch.read() == whole);
  }
  // The end of a file may be zero bytes after a power failure.
  const std::string records = whole.substr(0, whole.find('\n', whole.size() / 2) + 1);
  for (const std::size_t zeros : {1u, 100u, 10'000u}) {
    batch.directory.write("out", records + std::string(zeros, '\0'));
    REQUIRE(batch.run({"--samples", "2"}).status == 0);
    REQUIRE(batch.read() == whole);
  }
}

TEST_CASE("a run is not resumed if the lines, the options or the model have changed") {
  const Batch batch(kPrompts);
  CHECK(batch.run().status == 0);
  const std::string whole = batch.read();
  const auto check = [&](const Words& more, const std::string& message) {
    const Outcome outcome = batch.run(more);
    INFO(outcome.err);
    CHECK(outcome.status == 1);
    CHECK(outcome.err.find(message) != std::string::npos);
    CHECK(batch.read() == whole);
  };
  check({"--temperature", "1"}, "is not the record of line 1 of in: ");
  check({"--dtype", "int8"}, "is not the record of line 1 of in: ");
  check({"--kv", "f16"}, "is not the record of line 1 of in: ");
  check({"--samples", "2"}, "is not the record of line 1 of in: ");
  CHECK(batch.run({"--tokenizer", bundled::kDirectory.string()}).status == 0);
  CHECK(batch.read() == whole);
  std::string changed = kPrompts;
  changed.replace(changed.find("One day"), 7, "One DAY");
  batch.directory.write("in", changed);
  check({}, "is not the record of line 4 of in: ");
  batch.directory.write("in", kPrompts.substr(0, kPrompts.find("{\"prompt\": \"Tom\"")));
  check({}, "out has records of lines that in does not have: ");
  batch.directory.write("in", kPrompts + kPrompts);
  CHECK(batch.run().status == 0);
  CHECK(batch.read().starts_with(whole));
}

TEST_CASE("a file that is not the output of a run stays as it is") {
  const Batch batch(kPrompts);
  for (const std::string content : {"my notes", "my notes\n", "\nmy notes\n", "{\"line\":0}\n",
                                    "{\"line\":5,\"color\":\"red\"}"}) {
    batch.directory.write("out", content);
    const Outcome outcome = batch.run();
    CHECK(outcome.status == 1);
    CHECK(outcome.err.find('\'' + content.substr(0, content.find('\n')) + '\'') != content.npos);
    CHECK(batch.read() == content);
  }
  const std::string zeros(100, '\0');
  batch.directory.write("out", zeros);
  CHECK(batch.run().status == 1);
  CHECK(batch.read() == zeros);
  const Surroundings here = {.directory = batch.directory.path()};
  check_refused({"batch", "in", "-o", "in"}, 1, {"in is the input, too"}, here);
  check_refused({"batch", "in", "-o", kNullDevice}, 1, {kNullDevice, "not a regular file"}, here);
  check_refused({"batch", "in", "-o", "nowhere/out"}, 1, {"nowhere/out", "No such file"}, here);
  CHECK(batch.read("in") == kPrompts);
}

TEST_CASE("only one process writes a file") {
  const Batch batch(kPrompts);
  const int file = gpt2::cli::open_to_append((batch.directory.path() / "out").string());
  REQUIRE(gpt2::cli::lock(file) == gpt2::cli::Lock::taken);
  const Outcome outcome = batch.run();
  CHECK(outcome.status == 1);
  CHECK(outcome.err.find("another process is writing out") != std::string::npos);
  gpt2::cli::close_file(file);
  CHECK(batch.run().status == 0);
}

TEST_CASE("the input may be standard input, which is given again to resume") {
  const Batch batch(kPrompts);
  CHECK(batch.run().status == 0);
  const auto run_stdin = [&](const std::string& input) {
    return run({"batch", "-", "-o", "piped", "-n", "8"},
               {.input = input, .directory = batch.directory.path()});
  };
  CHECK(run_stdin(kPrompts).status == 0);
  CHECK(batch.read("piped") == batch.read());
  CHECK(run_stdin(kPrompts).status == 0);
  CHECK(batch.read("piped") == batch.read());
}

TEST_CASE("Ctrl-C stops the run, says so, and ends the command by the signal", "[terminal]") {
  const std::string line =
      R"({"prompt": "Tom", "max_new_tokens": )" + std::string(is_slow() ? "20}\n" : "200}\n");
  std::string input;
  for (int i = 0; i < 2000; ++i) input += line;
  const Batch batch(input);
  Command command({"batch", "in", "-o", "out"},
                  {.directory = batch.directory.path(), .terminal = true, .terminal_errors = true});
  command.await_error(" left");
  command.send(SIGINT);
  command.await_error("; the same command resumes");
  CHECK(command.wait() == -SIGINT);
  const std::string text = batch.read();
  CHECK((text.empty() || text.ends_with("\n")));
}

TEST_CASE("Ctrl-C ends a run that waits for its input, or reads a line without an end",
          "[terminal]") {
  for (const std::string input : {"-", "/dev/zero"}) {
    const Batch batch("");
    Command command(
        {"batch", input, "-o", "out"},
        {.directory = batch.directory.path(), .terminal = true, .terminal_errors = true});
    command.await_error("writing out");
    command.send(SIGINT);
    if (input == "-") command.await_error("stopped after 0 lines; the same command resumes");
    CHECK(command.wait() == -SIGINT);
  }
}

TEST_CASE("max_length includes the token that stands for an empty prompt") {
  const Batch batch(
      "{\"prompt\": \"\", \"max_length\": 5}\n{\"token_ids\": [], \"max_length\": 5}\n");
  CHECK(batch.run().status == 0);
  for (const json& record : batch.records()) {
    CHECK(record["prompt_tokens"] == 1);
    CHECK(record["token_ids"].size() == 4);
  }
}

TEST_CASE("arguments of batch that are wrong are refused") {
  const Batch batch(kPrompts);
  for (const auto& [more, fact] : std::vector<std::pair<Words, std::string>>{
           {{"--seed", "random"}, "--seed random"},
           {{"--logprobs", "101"}, "--logprobs: expected a whole number from 0 to 100"},
           {{"--shard", "3/3"}, "--shard: expected I/N"},
           {{"--samples", "0"}, "--samples: expected a whole number from 1 to"},
           {{"--lines", "--format", "openai"}, "--lines"},
           {{"--tokens", "--format", "openai"}, "--tokens"}}) {
    check_refused(Batch::arguments(more), 2, {fact}, {.directory = batch.directory.path()});
  }
  check_refused({"batch", "in", "-o", "-"}, 2, {"-o -"}, {.directory = batch.directory.path()});
}

}  // namespace gpt2::test::batch_test
