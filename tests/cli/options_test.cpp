// Tests the short options of the command, and the ways to give it a prompt.
#include <nlohmann/json.hpp>
#include <tuple>

#include "support/alphabet_text.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/temporary_directory.h"

namespace gpt2::test::options_test {

namespace {

// Returns the directory of an alphabet model.
std::string model() {
  static const TemporaryDirectory directory;
  static const bool written = (write_alphabet_model(directory.path(), 64), true);
  return written ? directory.path().string() : "";
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
  CHECK(run({"-V"}).out == run({"--version"}).out);
  CHECK(run({"-V"}).status == 0);
}

TEST_CASE("an option's value may look like a short option with a value") {
  CHECK(text({"a", "-n", "3", "--stop", "-n=2"}) == "abcd");
  CHECK(text({"a", "--stop=x", "-n=2"}) == "abc");
  CHECK(text({"-n=2", "--", "-n=3"}) == "-n=3ab");
}

TEST_CASE("--prompt takes any text as it is") {
  const auto prompt = [](const std::string& given) {
    const std::string out = text({"-n", "0", "-p", given});
    CHECK(text({"-n", "0", "--prompt", given}) == out);
    return out;
  };
  for (const std::string given :
       {"a", "-", "--", "-x", "--greedy", "=a", "a\n", "\xc3\xa9(b", "info"}) {
    CHECK(prompt(given) == given);
  }
  CHECK(text({"-n", "2", "-p", ""}) == "ab");
  CHECK(text({"-n", "2", "-p=a"}) == "abc");
  CHECK(text({"-n", "2", "-pa"}) == "abc");
  CHECK(text({"-n", "2", "--tokens", "-p", "97"}) == "97 98 99");
  CHECK(text({"-n", "1", "-p", "a"}, {.input = "not read"}) == "ab");
}

TEST_CASE("--file reads the prompt from a file, without one newline at its end") {
  const TemporaryDirectory directory;
  const auto prompt = [&](const std::string& bytes) {
    const std::string file = directory.write("prompt.txt", bytes).string();
    const std::string out = text({"-n", "0", "-f", file});
    CHECK(text({"-n", "0", "--file", file}, {.input = "not read"}) == out);
    CHECK(text({"-n", "0"}, {.input = bytes}) == out);
    return out;
  };
  CHECK(prompt("a") == "a");
  CHECK(prompt("a\n") == "a");
  CHECK(prompt("\n a\r\n\xff\xc3\n\n") == "\n a\r\n\xff\xc3\n");
  CHECK(prompt(std::string("a\0b", 3)) == std::string("a\0b", 3));
  CHECK(prompt("\n") == "");
  CHECK(prompt("") == "");
  const std::string ids = directory.write("ids.txt", "97,98\n").string();
  CHECK(text({"-n", "1", "--tokens", "-f", ids}) == "97 98 99");
  CHECK(text({"-n", "1", "-f", "-"}, {.input = "a\n"}) == "ab");
  CHECK(text({"-n", "1", "-"}, {.input = "b\n\n"}) == "b\na");
  directory.write("b", "x");
  CHECK(text({"-n", "0", "-f", "b"}, {.directory = directory.path()}) == "x");
}

TEST_CASE("--truncate leaves out the beginning of a prompt that is longer than the context") {
  // The model takes 64 tokens.
  std::string prompt;
  for (int i = 0; i < 100; ++i) prompt += static_cast<char>('a' + i * 7 % 26);
  const auto with = [&](Words words, const std::string& text) {
    words.insert(words.begin(), {"-m", model(), "--json", "-p", text});
    return run(words);
  };
  const std::string full = "the context of 64 tokens is full";
  const std::tuple<const char*, std::size_t, bool> cases[] = {{"0", 64, false},  {"1", 63, false},
                                                              {"10", 54, false}, {"63", 1, false},
                                                              {"64", 63, true},  {"256", 63, true}};
  for (const auto& [count, kept, is_full] : cases) {
    CAPTURE(count);
    const Words options = {"-n", count, "--temperature", "100", "--ignore-eos"};
    const Outcome outcome = with(joined_words(options, {"--truncate"}), prompt);
    CHECK(outcome.err.find("the first " + std::to_string(100 - kept) + " are left out\n") !=
          std::string::npos);
    CHECK((outcome.err.find(full) != std::string::npos) == is_full);
    const auto written = nlohmann::json::parse(outcome.out);
    CHECK(written["prompt"] == prompt);
    const auto short_one = nlohmann::json::parse(with(options, prompt.substr(100 - kept)).out);
    for (const char* const key : {"prompt_token_ids", "token_ids", "text", "finish_reason"}) {
      CHECK(written[key] == short_one[key]);
    }
    CHECK(written["prompt_token_ids"].size() == kept);
  }
  TemporaryDirectory smallest;
  write_alphabet_model(smallest.path(), 1);
  CHECK(run({"-m", smallest.path().string(), "--truncate", "-n", "1", "--no-echo", "ab"}).out ==
        "c\n");
  // A prompt that fits stays as it is, even if the text fills the context.
  const Outcome fits = with({"-n", "30", "--truncate"}, prompt.substr(36));
  CHECK(fits.err.find("left out") == std::string::npos);
  CHECK(fits.out == with({"-n", "30"}, prompt.substr(36)).out);
}

TEST_CASE("tokenize and bench have the short options that they can use") {
  const TemporaryDirectory directory;
  const std::string file = directory.write("text.txt", "ab\n").string();
  CHECK(run({"tokenize", "-m", model(), "-f", file}).out == "97 98 10\n");
  const std::string ids = directory.write("ids.txt", "97 98\n").string();
  CHECK(run({"tokenize", "-m", model(), "--decode", "--file", ids}).out == "ab");
  CHECK(run({"bench", "-t", "x"}).err.starts_with("gpt2: --threads: expected a whole number"));
}

TEST_CASE("a word too many is named with the text before it, which may be a mistyped command") {
  check_refused({"genrate", "The cat"}, 2, {"'The cat'", "'genrate'", "quotes", "gpt2 --help"});
  check_refused({"inspect", "The", "cat"}, 2, {"'cat'", "'The'", "quotes"});
  check_refused({"download", "a", "b", "c"}, 2, {"unexpected argument 'c'; see"});
}

}  // namespace gpt2::test::options_test
