// Tests the help texts, and the messages about words that are not commands.
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::help_test {

namespace {

const Words kCommands = {"generate", "batch",    "tokenize", "info",    "score", "embed",
#ifdef GPT2_HAS_SERVER
                         "serve",
#endif
                         "inspect",  "quantize", "bench",    "download"};

}  // namespace

TEST_CASE("every command has a help text with examples, of 80 columns but for these") {
  std::vector<Words> all = {{"--help"}, {"help", "more"}};
  for (const std::string& command : kCommands) all.push_back({command, "--help-all"});
  for (const Words& arguments : all) {
    CAPTURE(arguments);
    const std::string text = output_of(arguments);
    if (arguments[0] != "help") {
      CHECK(contains(text, "Usage: gpt2 "));
      CHECK(contains(text, "Examples:\n  gpt2 "));
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      const bool is_example = line.starts_with("  ") && !line.starts_with("   ");
      CHECK((is_example || line.size() <= 80));
    }
  }
  // The list of the commands fits a terminal of 24 lines, with the next prompt.
  const std::string help = run({"--help"}).out;
  CHECK(std::count(help.begin(), help.end(), '\n') < 24);
  for (const Words& same : {Words{"-h"}, {"help"}}) CHECK(run(same).out == help);
}

TEST_CASE("the help of generate shows the common options, and --help-all shows all") {
  const std::string some = run({"generate", "--help"}).out;
  const std::string all = run({"generate", "--help-all"}).out;
  for (const std::string option : {"--temperature", "--top-k", "--max-new-tokens", "--model"}) {
    CHECK(contains(some, option + ' '));
    CHECK(contains(all, option + ' '));
  }
  for (const std::string option : {"--typical-p", "--num-beams", "--save-state"}) {
    CHECK_FALSE(contains(some, "\n  " + option + ' '));
    CHECK(contains(all, "\n  " + option + ' '));
  }
  for (const char* const part :
       {"Usage: gpt2 generate [OPTIONS] [PROMPT]\n", "\nArguments:\n  PROMPT ", "\n  --greedy ",
        "\n  --begin-suppress-tokens IDS\n "}) {  // leaves no room for what it does on its line
    CHECK(contains(all, part));
  }
  CHECK(contains(some, "--help-all"));
  for (const Words& same :
       std::vector<Words>{{"generate", "-h"}, {"help", "generate"}, {"-m", "none", "--help"}}) {
    CHECK(run(same).out == some);
  }
  CHECK(run({"info", "--help-all"}).out == run({"info", "--help"}).out);
}

TEST_CASE("--version prints the version") {
  const std::string version = output_of({"--version"});
  CHECK(version.starts_with("gpt2 "));
  CHECK(version.ends_with("\n"));
  CHECK(run({"-V"}).out == version);
}

}  // namespace gpt2::test::help_test
