// Tests gpt2 batch: what it writes, what it refuses, and how it resumes.
#include <csignal>

#include "base/text.h"
#include "cli/system/system.h"
#include "support/batch.h"
#include "support/bundled_model.h"
#include "support/test.h"

namespace gpt2::test::batch_test {

namespace {

const std::string kPrompts = R"({"prompt": "Once upon a time", "max_new_tokens": 12}
{"prompt": "The cat", "do_sample": false, "custom_id": "cat", "stop_strings": [" had"]}
{"prompt": "", "temperature": 1.5, "top_k": 0, "top_p": 0.9, "seed": 18446744073709551615}
{"prompt": "One day", "repetition_penalty": 1.3, "no_repeat_ngram_size": 2, "stop": "."}
{"prompt": "Tom", "frequency_penalty": 1, "logit_bias": {"11": -100}, "logprobs": 2}
)";

const std::string kTexts =
    R"({"text": "Once upon a time there was a cat.", "context": 6, "stride": 3, "add_bos": true}
{"text": "Tom has a dog."}
{"text": [258, 401, 11], "logprobs": 2}
)";
const std::string kQuestions = R"({"context": "The cat", "choices": [" sat", " moon", [258, 401]]}
)";

}  // namespace

TEST_CASE("each record is the same as what a request of its line alone gives") {
  const Batch batch(kPrompts);
  const Outcome outcome = batch.run({"--samples", "2"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("gpt2: 5 lines, 0 errors; this run: "));
  const std::vector<json> found = batch.records(), lines = json_lines(kPrompts);
  REQUIRE(found.size() == 10);
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO(found[i]);
    CHECK(found[i]["line"] == i / 2);
    CHECK(found[i]["sample"] == i % 2);
    json line = lines[i / 2];
    CHECK(found[i].value("custom_id", "") == line.value("custom_id", ""));
    line.erase("custom_id");
    json expected = record_of(line, i);
    expected.erase("stats");
    for (const auto& [name, value] : expected.items()) CHECK(found[i].at(name) == value);
  }
}

TEST_CASE("lines of plain text and of token ids") {
  const Batch batch("Once upon\r\n\nTom");
  CHECK(batch.run().status == 0);  // the first line is no object
  CHECK(Batch("{\nTom").run().status == 3);
  CHECK(Batch("{\nTom").run({"--lines"}).status == 0);
  const Batch after_empty("\n{\"prompt\": \"Tom\"}");  // the first line says nothing
  CHECK(after_empty.run().status == 3);
  CHECK(after_empty.records().at(1).contains("text"));
  const std::vector<json> found = batch.records();
  REQUIRE(found.size() == 3);
  CHECK(found[1]["text"] == record_of({{"prompt", ""}}, 1)["text"]);
  CHECK(found[2]["text"] == record_of({{"prompt", "Tom"}}, 2)["text"]);
  const Batch ids(R"({"token_ids": [443, 4.52e2]})");
  CHECK(ids.run({"--tokens"}).status == 0);
  const json record = ids.records().at(0);
  CHECK(!record.contains("text"));
  CHECK(record["token_ids"] == found[0]["token_ids"]);

  const std::string without_tokenizer = std::string(GPT2_TEST_DATA) + "/oracle/adapters/base";
  const Batch both("{\"prompt\": \"a\"}\n{\"prompt\": [7, 8]}\n");
  CHECK(both.run({"-m", without_tokenizer}).status == 3);
  CHECK(both.records().at(0)["error"].get<std::string>().find("no tokenizer") != std::string::npos);
  CHECK(both.records().at(1)["token_ids"].size() == 8);
}

TEST_CASE("lines that are scored have the records of gpt2 score") {
  for (const auto& [lines, mode] : {std::pair{kTexts, "--jsonl"}, {kQuestions, "--choices"}}) {
    const Batch batch(lines);
    CHECK(batch.run({"--samples", "3"}).status == 0);  // a line that is scored has one record
    const std::vector<json> expected = json_lines(run({"score", mode}, {.input = lines}).out);
    std::vector<json> found = batch.records();
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i]["line"] == i);
      CHECK(found[i]["id"].get<std::string>().size() == 16);
      found[i].erase("line");
      found[i].erase("id");
      CHECK(found[i] == expected[i]);
    }
  }
}

TEST_CASE("a line that is wrong has a record that says why, and the run goes on") {
  const std::string prompt = R"({"prompt": "a", )";
  // Each line, and what its message must name.
  const std::vector<std::pair<std::string, Words>> cases = {
      {" \r", {"an empty line"}},
      {"once", {"the line: invalid JSON at column 1"}},
      {"{\"prompt\": \"\xff\"}", {"the line: invalid JSON"}},
      {std::string(1 << 20, '['), {"nested deeper than 128"}},
      {std::string(5 << 20, ' '), {"5242880 bytes", "4194304"}},
      {"[1]", {"the line", "array"}},
      {R"({"prompt": "a", "prompt": "b"})", {"'prompt'", "twice"}},
      {"{}", {"\"prompt\""}},
      {prompt + R"("token_ids": [1]})", {"\"prompt\"", "\"token_ids\"", "both"}},
      {R"({"prompt": ["a", "b"]})", {"prompt: ", "one text", "a list of 2"}},
      {"{\"prompt\": \"" + std::string(1 << 20, 'a') + "\"}", {"the prompt has "}},
      {R"({"text": "A"})", {"two tokens"}},
      {R"({"context": "a", "choices": ["b"], "text": "c"})", {"'text'"}},
      {R"({"url": "/v1/models", "body": {}})", {"url: ", "/v1/responses", "'/v1/models'"}},
      {R"({"method": "POST", "url": "/v1/completions"})", {"\"body\""}},
      {R"({"method": "GET", "url": "/v1/completions", "body": {"prompt": "a"}})", {"method: "}},
      {prompt + R"("n": 2})", {"n: ", "--samples, 1", "found 2"}},
      {prompt + R"("num_beams": 4})", {"num_beams: ", "beam search"}},
      {prompt + R"("sequence": 4})", {"sequence: ", "numbers"}},
      {prompt + R"("echo": true})", {"'echo'"}},
  };
  std::string input;
  for (const auto& [line, facts] : cases) input += line + '\n';
  const Batch batch(input + "{\"prompt\": \"Tom\"}\r\n");
  const std::string counts =
      concat("gpt2: ", cases.size() + 1, " lines, ", cases.size(), " errors; this run: ");
  const Outcome outcome = batch.run();
  CHECK(outcome.status == 3);
  CHECK(outcome.err.starts_with(counts + "8 tokens in "));
  CHECK(outcome.err.ends_with("gpt2: see \"error\" in out\n"));
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
  const Outcome again = batch.run();
  CHECK(again.status == 3);
  CHECK(again.err.starts_with(counts + "0 tokens in "));
}

TEST_CASE("members that are null are absent") {
  json line = {{"prompt", "The cat"}};
  for (const char* const name :
       {"text", "choices", "messages", "input", "sequence", "token_ids", "url", "body", "n"}) {
    line[name] = nullptr;
  }
  const Batch batch(line.dump() + "\n{\"prompt\": null, \"token_ids\": [443, 452]}\n");
  CHECK(batch.run({"--greedy"}).status == 0);
  const std::vector<json> found = batch.records();
  for (std::size_t i = 0; i < 2; ++i) {
    const json same = {{"prompt", i == 0 ? "The cat" : "Once upon"}, {"temperature", 0}};
    CHECK(found.at(i)["text"] == record_of(same, i)["text"]);
  }
}

TEST_CASE("a prompt that is too long loses its beginning with --truncate") {
  const Batch batch(json{{"prompt", std::string(5000, '.')}}.dump());
  CHECK(batch.run({"--truncate"}).status == 0);
  CHECK(batch.records().at(0)["truncated"] > 0);
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
  const json as_in_config = {{"prompt", "The cat"},
                             {"temperature", 1.5},
                             {"top_k", 9},
                             {"max_new_tokens", nullptr},
                             {"max_length", 21}};
  CHECK(found[0]["token_ids"] == record_of(as_in_config, 0)["token_ids"]);
  CHECK(found[1]["token_ids"] != found[0]["token_ids"]);
  // Another config would write other texts, so the run must not be resumed with it.
  model.write("generation_config.json", R"({"do_sample": true, "max_length": 22})");
  CHECK(again().status == 1);
  model.write("generation_config.json", R"({"num_beams": 4})");
  CHECK(again().err.starts_with("gpt2: --hf-defaults: num_beams"));
}

TEST_CASE("an input without lines has an output without records, which may be there") {
  const Batch batch("");
  for (int i = 0; i < 2; ++i) {
    CHECK(batch.run().status == 0);
    CHECK(batch.read() == "");
  }
}

TEST_CASE("a run resumes where the output ends, and cuts off an incomplete record") {
  const std::string lines = kPrompts + kTexts + kQuestions;  // of all kinds
  const Batch batch(lines);
  CHECK(batch.run({"--samples", "2"}).status == 0);
  const std::string whole = batch.read();
  // Each length takes a run of the command, which takes a second under a sanitizer.
  const std::size_t step = is_slow() ? 797 : 197;
  for (std::size_t length = 0; length <= whole.size(); length += step) {
    batch.directory.write("out", whole.substr(0, length));
    INFO(length);
    REQUIRE(batch.run({"--samples", "2", "-t", "2"}).status == 0);
    REQUIRE(batch.read() == whole);
  }
  // The end of a file may be zero bytes after a power failure, also behind a part of a record.
  const std::string records = whole.substr(0, whole.find('\n', whole.size() / 2) + 1);
  for (const auto& [part, zeros] : {std::pair("", 1u), std::pair("{\"li", 10'000u)}) {
    batch.directory.write("out", records + part + std::string(zeros, '\0'));
    REQUIRE(batch.run({"--samples", "2"}).status == 0);
    REQUIRE(batch.read() == whole);
  }
  // The lines may come from standard input, which is given again to resume.
  for (const std::string rest : {"", whole.c_str()}) {
    batch.directory.write("out", rest);
    const Outcome piped = run({"batch", "-", "-o", "out", "-n", "8", "--samples", "2"},
                              {.input = lines, .directory = batch.directory.path()});
    CHECK(piped.status == 0);
    CHECK(batch.read() == whole);
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
  for (const Words& more : std::vector<Words>{
           {"--temperature", "1"}, {"--dtype", "int8"}, {"--kv", "f16"}, {"--samples", "2"}}) {
    check(more, "is not the record of line 1 of in: ");
  }
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
  check_refused({"batch", "in", "-o", "in"}, 1, {"in exists and is not the output"}, here);
  check_refused({"batch", "in", "-o", kNullDevice}, 1, {kNullDevice, "not a regular file"}, here);
  check_refused({"batch", "in", "-o", "nowhere/out"}, 1, {"nowhere/out", "No such file"}, here);
  CHECK(batch.read("in") == kPrompts);
}

TEST_CASE("only one process writes a file") {
  const Batch batch(kPrompts);
  const int file = gpt2::cli::open_to_append((batch.directory.path() / "out").string());
  REQUIRE(gpt2::cli::lock(file));
  const Outcome outcome = batch.run();
  CHECK(outcome.status == 1);
  CHECK(outcome.err.find("another process is writing out") != std::string::npos);
  gpt2::cli::close_file(file);
  CHECK(batch.run().status == 0);
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

TEST_CASE("arguments of batch that are wrong are refused") {
  const Batch batch(kPrompts);
  for (const auto& [more, fact] : std::vector<std::pair<Words, std::string>>{
           {{"--seed", "random"}, "--seed random"},
           {{"--logprobs", "101"}, "--logprobs: expected a whole number from 0 to 100"},
           {{"--suppress-tokens", "9999"}, "--suppress-tokens"},
           {{"--shard", "3/3"}, "--shard: expected I/N"},
           {{"--lines", "--format", "openai"}, "--lines"}}) {
    check_refused(Batch::arguments(more), 2, {fact}, {.directory = batch.directory.path()});
  }
  check_refused({"batch", "in", "-o", "-"}, 2, {"-o -"}, {.directory = batch.directory.path()});
}

}  // namespace gpt2::test::batch_test
