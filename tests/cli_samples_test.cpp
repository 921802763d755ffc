// Tests --samples, --sequence, --overflow and --draft auto.
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.h"
#include "support/command.h"

using namespace gpt2::test;

namespace {

const Words kArguments = {"--temperature", "1", "--max-new-tokens", "30", "--seed", "5", "Tom"};

Words with(Words more) {
  more.insert(more.end(), kArguments.begin(), kArguments.end());
  return more;
}

}  // namespace

TEST_CASE("sample i is the text that --sequence i writes alone") {
  std::string expected;
  std::string expected_json;
  for (int i = 0; i < 5; ++i) {
    const std::string sequence = std::to_string(i + 2);
    const Outcome alone = run(with({"--sequence", sequence}));
    CHECK(expected.find(alone.out) == std::string::npos);
    expected += "--- " + std::to_string(i + 1) + " of 5\n" + alone.out;
    expected_json += run(with({"--sequence", sequence, "--json", "--logprobs", "1"})).out;
  }
  const Outcome samples = run(with({"--samples", "5", "--sequence", "2", "--stats"}));
  CHECK(samples.status == 0);
  CHECK(samples.out == expected);
  CHECK(samples.err.starts_with("samples     5\ngeneration  150 tokens, "));
  const Words json = {"--samples", "5", "--sequence", "2", "--json", "--logprobs", "1"};
  CHECK(run(with(json)).out == expected_json);
  CHECK(nlohmann::json::parse(expected_json.substr(0, expected_json.find('\n'))).at("sequence") ==
        2);
}

TEST_CASE("samples of token ids, and without the prompt") {
  const Words ids = {"--tokens", "--samples", "2", "-n", "3", "--no-echo", "10 11"};
  const std::string out = run(ids).out;
  CHECK(out.starts_with("--- 1 of 2\n"));
  CHECK(out.find("\n--- 2 of 2\n") != std::string::npos);
  CHECK(std::count(out.begin(), out.end(), '\n') == 4);
}

TEST_CASE("samples that are cut off by Ctrl-C end as one text does") {
  Command command({"--samples", "3", "--ignore-eos", "-n", "100000", "--overflow", "slide", "Tom"});
  command.read(200);
  command.send(SIGINT);
  CHECK(command.wait() == -SIGINT);
  CHECK(command.out.starts_with("--- 1 of 3\nTom"));
  CHECK(command.out.ends_with("\n"));
}

TEST_CASE("a text that slides goes on where the context is full") {
  const Words arguments = {"--greedy", "--ignore-eos", "-n", "1500", "Once"};
  const auto more = [&](const Words& first) {
    Words all = first;
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run(all);
  };
  const Outcome stopped = more({"--overflow", "stop"});
  CHECK(stopped.err.find("the text ends here: the context of ") != std::string::npos);
  const Outcome slid = more({"--overflow", "slide", "--keep", "4"});
  CHECK(slid.err.empty());
  const std::string begin = stopped.out.substr(0, stopped.out.size() - 1);
  CHECK(slid.out.starts_with(begin));
  CHECK(slid.out.size() > begin.size() + 100);
}

TEST_CASE("--draft auto is the default and changes no text") {
  const Words arguments = {"--stats", "--temperature", "0.9", "-n", "200", "One day, Tom"};
  const auto hash = [&](const std::string& draft) {
    Words all = {"--draft", draft};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run(all);
    return outcome.out + outcome.err.substr(outcome.err.find("logits"));
  };
  const Outcome plain = run(arguments);
  CHECK(hash("auto") == plain.out + plain.err.substr(plain.err.find("logits")));
  CHECK(hash("auto") == hash("off"));
}

TEST_CASE("options that contradict each other are refused with both names") {
  const auto check = [](const Words& arguments, const std::string& message) {
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.err.starts_with("gpt2: " + message));
    CHECK(outcome.out.empty());
  };
  check({"--samples", "2", "--greedy", "a"}, "--samples cannot be combined with --greedy");
  check({"--samples", "2", "--temperature", "0", "a"},
        "--samples cannot be combined with --greedy");
  check({"--samples", "2", "--draft", "int8", "a"}, "--samples cannot be combined with --draft");
  check({"--samples", "2", "--no-newline", "a"}, "--no-newline cannot be combined with --samples");
  check({"--samples", "2", "--sequence", "4294967295", "a"},
        "--sequence and --samples go beyond sequence 4294967295");
  check({"--samples", "0", "a"}, "--samples: expected a whole number from 1 to 1048576");
  check({"--overflow", "wrap", "a"}, "--overflow: expected stop or slide, found 'wrap'");
  check({"--keep", "2", "a"}, "--keep requires --overflow");
}
