// Tests how the words of a command line are read: short options, the ways to give a prompt, and
// bad arguments and files, which must lead to one clear line, the right exit status and nothing on
// standard output.
#include "support/alphabet_text.h"
#include "support/test.h"

namespace gpt2::test::options_test {

namespace fs = std::filesystem;

namespace {

void check_refuses(const AlphabetModel& model, int status, const Words& more, const Words& facts) {
  check_refused(joined_words({"-m", model.name()}, more), status, facts);
}

}  // namespace

TEST_CASE("a short option is another spelling of the long one") {
  const Words wild = {"--temperature", "100", "--prompt", "a"};
  const auto with = [&](const Words& words) { return text(joined_words(words, wild)); };
  const std::string expected = with({"--max-new-tokens", "9", "--seed", "3", "--threads", "1"});
  CHECK(expected != with({"--max-new-tokens", "9", "--seed", "4"}));
  CHECK(expected != with({"--max-new-tokens", "8", "--seed", "3"}));
  CHECK(with({"-n", "9", "-s", "3", "-t", "1"}) == expected);
  CHECK(with({"-n9", "-s3", "-t1"}) == expected);
  CHECK(with({"-n=9", "-s=3", "-t=1"}) == expected);
}

TEST_CASE("an option's value may look like a short option with a value") {
  CHECK(text({"a", "-n", "3", "--stop", "-n=2"}) == "abcd");
  CHECK(text({"a", "--stop=x", "-n=2"}) == "abc");
  CHECK(text({"-n=2", "--", "-n=3"}) == "-n=3ab");
}

TEST_CASE("--prompt takes any text as it is") {
  for (const std::string given : {"a", "-", "--", "-x", "=a", "a\n", "\xc3\xa9(b", "info"}) {
    CHECK(text({"-n", "0", "-p", given}) == given);
  }
  CHECK(text({"-n", "2", "-p", ""}) == "ab");
  CHECK(text({"-n", "2", "-pa"}) == "abc");
  CHECK(text({"-n", "2", "--tokens", "-p", "97"}) == "97 98 99");
  CHECK(text({"-n", "1", "-p", "a"}, {.input = "not read"}) == "ab");
}

TEST_CASE("--file reads the prompt from a file, without one newline at its end") {
  const TemporaryDirectory directory;
  const auto prompt = [&](const std::string& bytes) {
    const std::string file = directory.write("prompt.txt", bytes).string();
    const std::string out = text({"-n", "0", "-f", file}, {.input = "not read"});
    CHECK(text({"-n", "0"}, {.input = bytes}) == out);
    return out;
  };
  CHECK(prompt("a") == "a");
  CHECK(prompt("\n a\r\n\xff\xc3\n\n") == "\n a\r\n\xff\xc3\n");
  CHECK(prompt(std::string("a\0b", 3)) == std::string("a\0b", 3));
  CHECK(prompt("\n") == "");
  const std::string ids = directory.write("ids.txt", "97,98\n").string();
  CHECK(text({"-n", "1", "--tokens", "-f", ids}) == "97 98 99");
  CHECK(text({"-n", "1", "-f", "-"}, {.input = "a\n"}) == "ab");
  CHECK(text({"-n", "1", "-"}, {.input = "b\n\n"}) == "b\na");
}

// requests_completions_test has the lengths.
TEST_CASE("--truncate says how much of a prompt it leaves out") {
  const AlphabetModel model;
  const auto with = [&](const Words& words) {
    return run(joined_words({"-m", model.name(), "--json", "-n", "10", "--ignore-eos"}, words));
  };
  const std::string prompt = std::string(100, 'b') + "a";
  const Outcome cut = with({"--truncate", prompt}), plain = with({prompt.substr(47)});
  CHECK(cut.err.find("the first 47 are left out\n") != std::string::npos);
  const auto written = nlohmann::json::parse(cut.out);
  CHECK(written["prompt"] == prompt);
  CHECK(written["prompt_token_ids"].size() == 54);
  CHECK(written["token_ids"] == nlohmann::json::parse(plain.out)["token_ids"]);
  CHECK(with({"--truncate", "a"}).err == "");
  check_refuses(model, 1, {prompt}, {"101 tokens", "at most 64", "--truncate"});
}

// sampling_fields_test tries the ends of every option's range. These are texts that are no values.
TEST_CASE("a value of another form than its option's is refused by name") {
  const Words whole = {"-1", "12abc", "1.5", "", " 5", "+5", "0x10", "18446744073709551616"};
  for (const auto& [option, values] : std::vector<std::pair<std::string, Words>>{
           {"--seed", {"Random", "1e99"}},
           {"--max-new-tokens", whole},
           {"--temperature", {"nan", "-inf", "1e999", "0.5x", "", "0,5"}},
           {"--suppress-tokens", {"-1", "1,", ",1", "1,,2", "1;2", "2147483648", ""}},
           {"--logit-bias", {"1", "1=", "=1", "1=x", "1=nan", "1=2=3", "1,2=3"}},
           {"--sequence-bias", {"1,2", "=1", "1,=1", "1=inf"}},
           {"--exponential-decay-length-penalty", {"5", "5,", "-1,1.5", "5,nan", "5,1.5,2"}},
           {"--bad-words", {""}},
           {"--stop", {""}},
           {"--overflow", {"wrap"}},
           {"--kv", {"bf16"}},
           {"--draft", {"f32", ""}},
           {"--model", {""}},
           {"--early-stopping", {"no"}}}) {
    for (const std::string& value : values) {
      check_refused({option, value, "x"}, 2, {option + ": expected ", "found '" + value + "'"});
    }
  }
}

TEST_CASE("what only this model does not allow is refused by name, as invalid arguments are") {
  const AlphabetModel model;
  check_refuses(model, 2, {"--logit-bias", "257=1", "x"}, {"--logit-bias", "257", "0 to 256"});
  check_refuses(model, 2, {"--json", "--logprobs", "258", "x"}, {"--logprobs", "0 to 100", "258"});
  check_refuses(model, 2, {"--overflow", "slide", "--keep", "63", "x"},
                {"--keep", "0 to 62", "63"});
  // Options in the model's own config are not arguments.
  model.write("generation_config.json", R"({"do_sample": true, "suppress_tokens": [257]})");
  check_refuses(model, 1, {"--hf-defaults", "x"}, {"suppress_tokens", "257"});
  model.remove_token("x");
  check_refuses(model, 2, {"--bad-words", "x", "a"}, {"--bad-words: ", "no tokens for 'x'"});
  CHECK(run({"-m", model.name(), "--bad-words", "y", "a"}).status == 0);
}

TEST_CASE("arguments that make no sense are refused by name") {
  const std::string both = "cannot be combined with";
  const std::pair<Words, Words> cases[] = {
      {{"--tmperature", "1", "x"}, {"'--tmperature'", "gpt2 generate --help"}},
      {{"-x y"}, {"'-x y'", "after --"}},
      {{"-ngl", "x"}, {"--max-new-tokens", "'gl'"}},
      {{"info", "-x"}, {"'-x'", "gpt2 info --help"}},
      {{"--two\nlines\x1b[31m", "x"}, {"'--two lines [31m'"}},
      {{"--", "x", "--greedy"}, {"'--greedy'"}},
      {{"Once", "upon"}, {"'upon'", "quotes"}},
      {{"genrate", "The cat"}, {"'The cat'", "'genrate'", "quotes", "gpt2 --help"}},
      {{"download", "a", "b", "c"}, {"unexpected argument 'c'; see"}},
      {{"--greedy=no", "x"}, {"--greedy takes no value"}},
      {{"-n", "1", "--max-new-tokens", "2", "a"}, {"--max-new-tokens may be given only once"}},
      {{"a", "-n"}, {"--max-new-tokens expects a value: --max-new-tokens N"}},
      {{"--stop=", "x"}, {"--stop", "'='"}},
      {{"-n=", "a"}, {"--max-new-tokens", "'='"}},
      {{"--threads", "1025", "x"}, {"--threads", "from 0 to 1024", "--help"}},
      {{"--temperature", "100.1", "x"}, {"0 or a number from 1e-06 to 100"}},
      {{"quantize", "m", "o", "--text", ""}, {"--text: expected a file, found ''"}},
      {{"score", ""}, {"FILE: expected a file, found ''"}},
      {{"quantize", "x"}, {"OUT is required"}},
      {{"--logprobs", "3", "a"}, {"--logprobs requires --json"}},
      {{"--keep", "2", "a"}, {"--keep requires --overflow"}},
      {{"--length-penalty", "1", "a"}, {"--length-penalty: needs --num-beams"}},
      {{"--samples", "0", "a"}, {"--samples: expected a whole number from 1 to 1048576"}},
      // Options that contradict each other are refused with both names.
      {{"--greedy", "--temperature", "0.5", "x"}, {"--temperature", both, "--greedy"}},
      {{"--ignore-eos", "--min-length", "5", "x"}, {"--min-length", both, "--ignore-eos"}},
      {{"--num-beams", "2", "--draft", "int8", "x"}, {"--draft", both, "--num-beams"}},
      {{"--num-beams", "2", "--num-return-sequences", "3", "x"}, {"--samples: ", "2, found 3"}},
      {{"--tokens", "--bad-words", "x", "3"}, {"--bad-words", both, "--tokens"}},
      {{"--tokens", "3", "--stop", "x"}, {"--stop", both, "--tokens"}},
      {{"-p", "a", "-f", "b"}, {"--prompt", both, "--file"}},
      {{"-p", "a", "b"}, {"--prompt", both, "PROMPT"}},
      {{"--json", "--no-echo", "a"}, {"--no-echo", both, "--json"}},
      {{"bench", "-m", "x", "--size", "124M"}, {"--size", both, "--model"}},
      {{"--samples", "2", "--no-newline", "a"}, {"--no-newline", both, "--samples"}},
      {{"--save-state", "s", "--samples", "2", "a"}, {"--samples: a session has one text"}},
      {{"-i", "--json"}, {"--json", both, "--interactive"}},
      {{"-i", "--num-beams", "2"}, {"--num-beams: a session has one text"}}};
  for (const auto& [arguments, facts] : cases) check_refused(arguments, 2, facts);
}

TEST_CASE("a file of a prompt that cannot be read is refused by name") {
  for (const Words& command : {Words{"-f"}, {"tokenize", "-f"}, {"score"}}) {
    for (const auto& [file, reason] :
         {std::pair{"/no/such", "No such file or directory"}, {"/", "Is a directory"}}) {
      check_refused(joined_words(command, {file, "-m", alphabet_model()}), 1, {file, reason});
    }
  }
}

// Only that each reader's error gets out of the command; the tests of the readers have all errors.
TEST_CASE("a model whose files are missing or damaged is refused by the name of the file") {
  const AlphabetModel model;
  model.write("merges.txt", "#version: 0.2\na b c\n");
  check_refuses(model, 1, {"x"}, {"merges.txt"});
  fs::resize_file(model.path() / "model.safetensors", 100);
  check_refuses(model, 1, {"x"}, {"model.safetensors"});
  model.write("config.json", R"({"model_type": "llama"})");
  check_refuses(model, 1, {"x"}, {"config.json", "llama"});
  const fs::path folder = fs::path(GPT2_TEST_DATA) / "oracle/loading/added_tokens_not_resized";
  for (const std::string command : {"generate", "inspect"}) {
    check_refused({command, "-m", folder.string(), "hi <|user|>"}, 1,
                  {"258", "259", "'<|user|>'", "added_tokens.json"});
  }
}

TEST_CASE("a surprise in the weights is one line on standard error") {
  const fs::path folder = fs::path(GPT2_TEST_DATA) / "oracle/loading/qa_outputs";
  const Outcome outcome = run({"-m", folder.string(), "--tokens", "-n", "1", "1 2 3"});
  CHECK(outcome.status == 0);
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
  CHECK(outcome.err.starts_with("gpt2: "));
}

TEST_CASE("invalid token ids are refused") {
  const AlphabetModel model;
  for (const std::string id : {"257", "-1", "12abc", "99999999999", "1.5"}) {
    const Words facts = {"token id 2", "from 0 to 256", "'" + id + "'"};
    check_refused({"tokenize", "--decode", "-m", model.name(), "3 " + id}, 1, facts);
    check_refuses(model, 1, {"--tokens", "3 " + id}, facts);
  }
}

}  // namespace gpt2::test::options_test
