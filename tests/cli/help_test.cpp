// Tests the help texts, and the messages about words that are not commands.
#include <algorithm>
#include <sstream>
#include <string>

#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/command.h"

namespace gpt2::test::help_test {

namespace {

const Words kCommands = {"generate", "batch", "tokenize", "info", "score", "embed",
#ifdef GPT2_HAS_SERVER
                         "serve",
#endif
                         "inspect", "quantize", "bench"};

}  // namespace

TEST_CASE("the help texts fit a terminal of 80 columns and have no gaps") {
  std::vector<Words> all = {{"--help"}, {"help", "more"}};
  for (const std::string& command : kCommands) all.push_back({command, "--help"});
  for (const Words& arguments : all) {
    CAPTURE(arguments);
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 0);
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
      CHECK(!line.ends_with(' '));
    }
    CHECK(outcome.out.find("\n\n\n") == std::string::npos);
    CHECK(outcome.out.ends_with("\n"));
  }
}

TEST_CASE("the help texts follow COLUMNS from 40 to 100") {
  const auto widest = [](const Words& arguments, const std::string& columns) {
    std::size_t most = 0;
    std::istringstream lines(run(arguments, {.environment = {"COLUMNS=" + columns}}).out);
    for (std::string line; std::getline(lines, line);) {
      // Examples are commands, which are not broken.
      const bool is_example = line.starts_with("  gpt2 ") || line.starts_with("  {") ||
                              line.starts_with("  echo") || line.starts_with("  jq") ||
                              line.starts_with("  mpirun") || line.starts_with("  curl");
      if (!is_example) most = std::max(most, line.size());
    }
    return most;
  };
  std::vector<Words> all = {{"--help"}};
  for (const std::string& command : kCommands) all.push_back({command, "--help"});
  for (const Words& arguments : all) {
    CAPTURE(arguments);
    CHECK(widest(arguments, "40") <= 40);
    CHECK(widest(arguments, "60") <= 60);
    CHECK(widest(arguments, "100") <= 100);
    if (arguments.size() > 1) CHECK(widest(arguments, "100") > 80);
    const std::string narrowest = run(arguments, {.environment = {"COLUMNS=40"}}).out;
    CHECK(run(arguments, {.environment = {"COLUMNS=7"}}).out == narrowest);
    CHECK(run(arguments, {.environment = {"COLUMNS=wide"}}).out == run(arguments).out);
  }
}

TEST_CASE("on a terminal, the help is as wide as the terminal", "[terminal]") {
  Command command({"info", "--help"}, {.terminal = true, .terminal_output = true, .columns = 50});
  command.await_error("--json\r\n");
  CHECK(command.err.starts_with("Shows a model's files, config, size, memory use\r\nand tokenizer\r\n"));
}

TEST_CASE("the help that lists the commands fits a terminal of 24 lines, with the next prompt") {
  const std::string help = run({"--help"}).out;
  CHECK(std::count(help.begin(), help.end(), '\n') < 24);
}

TEST_CASE("the help of a command has its arguments, and an entry for each option in its group") {
  const std::string help = run({"generate", "--help"}).out;
  CHECK(help.starts_with(
      "Continues a text with a GPT-2 model\n\nUsage: gpt2 generate [OPTIONS] [PROMPT]\n\n"
      "Arguments:\n  PROMPT                    The text to continue\n\nPrompt:\n"));
  CHECK(help.find("\n  --greedy                  Always take the most likely token, as with\n") !=
        std::string::npos);
  // A name that leaves no room for what it does stands on a line of its own.
  CHECK(help.find("\n  --begin-suppress-tokens IDS\n                            Do not ") !=
        std::string::npos);
  CHECK(run({"quantize", "--help"}).out.find("Usage: gpt2 quantize [OPTIONS] MODEL OUT\n") !=
        std::string::npos);
}

TEST_CASE("batch does not offer the seed that it refuses") {
  CHECK(run({"batch", "--help"}).out.find("random'") == std::string::npos);
  CHECK(run({"generate", "--help"}).out.find("'random'") != std::string::npos);
}

TEST_CASE("gpt2 help refuses a command that does not exist") {
  const auto refusal = [](const Words& arguments) {
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out == "");
    return outcome.err;
  };
  CHECK(refusal({"help", "nosuch"}) ==
        "gpt2: no command 'nosuch'; 'gpt2 --help' lists the commands\n");
  CHECK(refusal({"help", "inof"}) ==
        "gpt2: no command 'inof' (did you mean 'gpt2 info'?); 'gpt2 --help' lists the commands\n");
  CHECK(refusal({"help", "info", "x"}) == "gpt2: unexpected argument 'x'\n");
  CHECK(run({"help", "info"}).out == run({"info", "--help"}).out);
}

TEST_CASE("for a command of another program, a hint names the equivalent") {
  for (const auto& [word, advice] : {std::pair{"chat", "did you mean 'gpt2 -i'?"},
                                     {"run", "did you mean 'gpt2 generate'?"},
                                     {"download", "did you mean 'hf download'?"},
                                     {"server", "did you mean 'gpt2 serve'?"}}) {
    CAPTURE(word);
    const Outcome refused = run({word, "gpt2"});
    CHECK(refused.status == 2);
    CHECK(refused.err.starts_with("gpt2: no command '" + std::string(word) + "' (" + advice + ")"));
    const Outcome taken = run({"-m", alphabet_model(), "-n", "0", word});
    CHECK(taken.out == std::string(word) + "\n");
    CHECK(taken.err == "gpt2: '" + std::string(word) + "' is taken as a prompt; " + advice + "\n");
  }
}

TEST_CASE("a command that writes to standard output says so to those who look for -o") {
  for (const std::string command : {"score", "embed", "tokenize", "generate"}) {
    for (const std::string option : {"-o", "--output", "--output=x"}) {
      CAPTURE(command, option);
      const Outcome outcome = run({command, option, "x"});
      CHECK(outcome.status == 2);
      CHECK(outcome.err == "gpt2: unknown option '" + option +
                               "' (the result goes to standard output: append > FILE); see 'gpt2 " +
                               command + " --help'\n");
    }
  }
  CHECK(run({"quantize", "-o", "x"}).err.find("standard output") == std::string::npos);
}

}  // namespace gpt2::test::help_test
