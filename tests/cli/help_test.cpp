// Tests the help texts, and the messages about words that are not commands.
#include <algorithm>
#include <sstream>
#include <string>

#include "support/catch.h"
#include "support/command.h"

namespace gpt2::test::help_test {

namespace {

const Words kCommands = {"generate", "batch",    "tokenize", "info",    "score", "embed",
#ifdef GPT2_HAS_SERVER
                         "serve",
#endif
                         "inspect",  "quantize", "bench",    "download"};

}  // namespace

TEST_CASE("the help texts have at most 80 columns, but for examples") {
  std::vector<Words> all = {{"--help"}, {"help", "more"}};
  for (const std::string& command : kCommands) all.push_back({command, "--help-all"});
  for (const Words& arguments : all) {
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 0);
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(arguments, line);
      const bool is_example = line.starts_with("  ") && !line.starts_with("   ");
      CHECK((is_example || line.size() <= 80));
    }
  }
}

TEST_CASE("the help of generate shows the common options, and --help-all shows all") {
  const std::string some = run({"generate", "--help"}).out;
  const std::string all = run({"generate", "--help-all"}).out;
  for (const std::string option : {"--temperature", "--top-k", "--max-new-tokens", "--model"}) {
    CHECK(some.find(option + ' ') != std::string::npos);
    CHECK(all.find(option + ' ') != std::string::npos);
  }
  for (const std::string option : {"--typical-p", "--num-beams", "--save-state"}) {
    CHECK(some.find("\n  " + option + ' ') == std::string::npos);
    CHECK(all.find("\n  " + option + ' ') != std::string::npos);
  }
  CHECK(some.find("--help-all") != std::string::npos);
  CHECK(some.find("\nExamples:\n") != std::string::npos);
  CHECK(run({"generate", "-h"}).out == some);
  CHECK(run({"help", "generate"}).out == some);
  CHECK(run({"info", "--help-all"}).out == run({"info", "--help"}).out);
}

TEST_CASE("the help that lists the commands fits a terminal of 24 lines, with the next prompt") {
  const std::string help = run({"--help"}).out;
  CHECK(std::count(help.begin(), help.end(), '\n') < 24);
}

TEST_CASE("the help of a command has its arguments, and an entry for each option in its group") {
  const std::string help = run({"generate", "--help-all"}).out;
  for (const char* const part :
       {"Usage: gpt2 generate [OPTIONS] [PROMPT]\n", "\nArguments:\n  PROMPT ", "\n  --greedy ",
        "\n  --begin-suppress-tokens IDS\n "}) {  // leaves no room for what it does on its line
    CAPTURE(part);
    CHECK(help.find(part) != std::string::npos);
  }
}

TEST_CASE("gpt2 help refuses a command that does not exist") {
  check_refused({"help", "nosuch"}, 2, {"'nosuch'", "gpt2 --help"});
  check_refused({"help", "info", "x"}, 2, {"'x'"});
}

}  // namespace gpt2::test::help_test
