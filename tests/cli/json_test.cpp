// Tests gpt2 generate --json: one JSON object for each text, on one line.
#include <csignal>

#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::json_test {

using Json = nlohmann::ordered_json;

namespace {

Words keys_of(const Json& object) {
  Words keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

// Parses the only line of the output.
Json parsed(const std::string& out) {
  CAPTURE(out);
  CHECK(std::count(out.begin(), out.end(), '\n') == 1);
  CHECK(out.ends_with('\n'));
  return Json::parse(out);
}

Json generate(const Words& arguments) {
  return parsed(output_of(joined_words({"-m", alphabet_model(), "--json"}, arguments)));
}

}  // namespace

TEST_CASE("--json writes one object, with what the plain text has and more") {
  const Json object = generate({"-n", "3", "-s", "7", "ab"});
  CHECK(object == Json{{"model", alphabet_model()},
                       {"prompt", "ab"},
                       {"prompt_token_ids", {97, 98}},
                       {"text", "cde"},
                       {"token_ids", {99, 100, 101}},
                       {"finish_reason", "length"},
                       {"seed", 7},
                       {"sequence", 0}});
  const Json empty = generate({"-n", "0", ""});
  CHECK(empty["text"] == "");
  CHECK(empty["token_ids"] == Json::array());
  CHECK(empty["prompt_token_ids"] == Json{256});  // it stands for an empty prompt
  CHECK(generate({"-s", "18446744073709551615", "0"})["seed"] == 18446744073709551615u);
  const Outcome random = run({"-m", alphabet_model(), "--json", "-n", "1", "-s", "random", "a"});
  CHECK(random.err ==
        "gpt2: to write this text again, give --seed " + parsed(random.out)["seed"].dump() + "\n");
}

TEST_CASE("the text in JSON is the plain text, for any prompt") {
  for (const std::string prompt : {"a", "", "two\nlines\n", "\r\n\t", "\"quoted\" \\ 'text'",
                                   "\x01\x1b[31m\x7f", "\U0001f600 \u2028"}) {
    CAPTURE(prompt);
    const Words options = {"-n", "40", "--temperature", "100", "-p", prompt};
    const std::string plain = run(joined_words({"-m", alphabet_model()}, options)).out;
    const Json object = generate(options);
    CHECK(object["prompt"] == prompt);
    const std::string text = prompt + object["text"].get<std::string>();
    CHECK((text.ends_with('\n') ? text : text + '\n') == plain);
  }
}

// On Windows, arguments are UTF-16.
TEST_CASE("bytes that are not UTF-8 become U+FFFD in JSON, and the ids tell what they were",
          "[posix]") {
  const Json object = generate({"-n", "1", "-p", "\xff\xc3(\xe2\x82z"});
  CHECK(object["prompt"] == "\ufffd\ufffd(\ufffdz");
  CHECK(object["prompt_token_ids"] == Json{0xff, 0xc3, '(', 0xe2, 0x82, 'z'});
}

TEST_CASE("with --tokens there is no text in the JSON") {
  const Json object = generate({"--tokens", "-n", "1", "--logprobs", "1", "97"});
  CHECK(keys_of(object) == Words{"model", "prompt_token_ids", "token_ids", "finish_reason", "seed",
                                 "sequence", "logprobs"});
  CHECK(object["prompt_token_ids"] == Json{97});
  CHECK(object["token_ids"] == Json{98});
  CHECK(keys_of(object["logprobs"][0]) == Words{"id", "logprob", "rank", "top"});
}

TEST_CASE("--stats adds what was measured to the JSON, and prints nothing else") {
  const Json object = generate({"--stats", "-n", "5", "--draft", "prompt", "abcdefabc"});
  REQUIRE(keys_of(object).back() == "stats");
  const Json& stats = object["stats"];
  CHECK(keys_of(stats) == Words{"prompt_seconds", "generation_seconds", "drafted_tokens",
                                "accepted_tokens", "logits_hash"});
  CHECK(stats["accepted_tokens"].get<std::size_t>() > 0);
  const Outcome plain = run({"-m", alphabet_model(), "--stats", "-n", "5", "abcdefabc"});
  CHECK(hash_in(plain.err) == stats["logits_hash"].get<std::string>() + "\n");
  CHECK(generate({"--stats", "-n", "0", "a"})["stats"]["logits_hash"].is_null());
}

TEST_CASE("Ctrl-C ends the text, and the JSON has what was written until then", "[terminal]") {
  const AlphabetModel model(20'000);
  const auto interrupted = [&](const std::string& prompt, const std::string& message) {
    Command command({"-m", model.name(), "--json", "-n", "20000", "-p", prompt},
                    {.terminal = true, .terminal_errors = true});
    command.await_error(message);
    command.send(SIGINT);
    CHECK(command.wait() == -SIGINT);
    const Json object = parsed(command.out);
    CHECK(object["finish_reason"] == "cancelled");
    CHECK(object["prompt"] == prompt);
    CHECK(object["text"].get<std::string>().size() < 20'000);
    return object;
  };
  // Once the first token is written, the message about the prompt is erased.
  const Json in_text = interrupted("a", "reading the prompt ... 100 %\r\x1b[K");
  CHECK(in_text["text"].get<std::string>().starts_with("b"));
  const Json in_prompt = interrupted(std::string(19'000, 'a'), "reading the prompt ... 3 %");
  CHECK(in_prompt["text"] == "");
  CHECK(in_prompt["token_ids"] == Json::array());
}

}  // namespace gpt2::test::json_test
