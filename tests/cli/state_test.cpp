// Tests gpt2 generate --save-state and --state: another process continues a text.
#include <csignal>

#include "support/alphabet_text.h"
#include "support/test.h"

namespace gpt2::test::state_test {

namespace fs = std::filesystem;

namespace {

const TemporaryDirectory& place() {
  static const TemporaryDirectory directory;
  return directory;
}

// Returns the name of a file for a state.
std::string state(const std::string& name = "state") { return (place().path() / name).string(); }

// Checks that the arguments are refused for a file, in a message with these facts.
void check_refused(const Words& arguments, const Words& facts) {
  test::check_refused(joined_words({"-m", alphabet_model()}, arguments), 1, facts);
}

}  // namespace

TEST_CASE("the new prompt and its continuation are written") {
  CHECK(text({"ab", "-n", "3", "--save-state", state()}) == "abcde");
  CHECK(text({"--state", state(), "xy", "-n", "2"}) == "xyz ");
  CHECK(text({"--state", state(), "--no-echo", "xy", "-n", "2"}) == "z ");
  CHECK(text({"--state", state(), "-n", "3"}) == "fgh");
  CHECK(text({"--state", state(), "-n", "3"}, {.input = "k\n"}) == "klmn");
}

TEST_CASE("two commands write the same text as one, for any option and instruction set") {
  const Words wild = {"--tokens", "--temperature", "100", "--top-k",
                      "0",        "--ignore-eos",  "-s",  "5"};
  const auto with = [&](const Words& words, const Surroundings& surroundings = {}) {
    return text(joined_words(words, wild), surroundings);
  };
  const std::string whole = with({"97 98", "-n", "300", "-t", "1"});
  for (const std::string first : {"1", "254", "255"}) {
    const std::string rest = std::to_string(300 - std::stoi(first));
    const std::string begin = with({"97 98", "-n", first, "-t", "1", "--save-state", state()},
                                   {.environment = {"GPT2_ISA=scalar"}});
    const std::string bytes = read_bytes(state());
    with({"97 98", "-n", first, "-t", "2", "--draft", "prompt", "--save-state", state()});
    CHECK(read_bytes(state()) == bytes);
    CHECK(begin + " " + with({"--state", state(), "-n", rest, "--draft", "prompt"}) == whole);
  }
  // A command can load a state and save the new state to the same file.
  with({"97 98", "-n", "100", "--save-state", state()});
  with({"--state", state(), "-n", "100", "--save-state", state()});
  CHECK(whole.ends_with(" " + with({"--state", state(), "-n", "100"})));
}

TEST_CASE("a state can be saved without a text, after its end, and when the context is full") {
  CHECK(text({"abc", "-n", "0", "--save-state", state()}) == "abc");
  CHECK(text({"--state", state(), "-n", "2"}) == "de");
  CHECK(text({"abc0", "-n", "9", "--save-state", state()}) == "abc0");
  CHECK(text({"--state", state(), "-n", "9"}) == "");  // the text ends again
  CHECK(text({"--state", state(), "k", "-n", "2"}) == "klm");
  CHECK(text({"ab", "--stop", "d", "--save-state", state()}) == "abc");
  CHECK(text({"--state", state(), "-n", "1"}) == "e");  // the stop string belongs to the state

  const AlphabetModel small(8);
  const auto with = [&](const Words& words) {
    return run(joined_words(words, {"-m", small.name(), "--save-state", state()}));
  };
  CHECK(with({"abc"}).out == "abcdefghi\n");  // i has no place in the context
  CHECK(with({"--state", state(), "-n", "3"}).out == "i\n");
  const Outcome full = with({"--state", state(), "xyz"});
  CHECK(full.status == 1);
  CHECK(full.err.find("has room for 0, after the 8 tokens") != std::string::npos);
  CHECK(with({"--state", state(), "klm", "--overflow", "slide", "-n", "3"}).out == "klmnop\n");
}

TEST_CASE("numbers of tokens that include the prompt include the state") {
  text({"abcdefgh", "-n", "0", "--save-state", state()});
  const Outcome none = generate({"--state", state(), "-n", "3", "--stats"});
  CHECK(none.err.starts_with("prompt      0 tokens\ngeneration  3 tokens,"));
  const Words ended = {"--state", state(), "z0", "-n", "3", "--greedy"};
  CHECK(text(joined_words(ended, {"--min-length", "10"})) == "z0");
  CHECK(text(joined_words(ended, {"--min-length", "11"})) != "z0");
}

// Compares tokens, because the text may be interrupted in the middle of a character.
TEST_CASE("Ctrl-C saves what has been written") {
  fs::remove(state());
  const auto with = [](Words words) {
    words.insert(words.begin(), {"-m", alphabet_model(), "--tokens", "--no-newline"});
    return words;
  };
  Command command(with({"97", "-n", "900", "--save-state", state()}));
  command.read(10);
  command.send(SIGINT);
  CHECK(command.wait() == -SIGINT);
  const std::string rest = run(with({"--state", state(), "-n", "3"})).out;
  CHECK(run(with({"97", "-n", "950"})).out.starts_with(command.out + " " + rest + " "));
}

TEST_CASE("a state that cannot be used, or has no place, is refused before anything is written") {
  text({"a", "-n", "2", "--save-state", state()});
  const std::string none = state("none"), bytes = read_bytes(state());
  check_refused({"--state", none, "a"}, {none, "No such file or directory"});
  const std::string cut = place().write("cut", bytes.substr(0, bytes.size() / 2)).string();
  check_refused({"--state", cut, "a"}, {cut, std::to_string(bytes.size())});
  test::check_refused({"--state", state(), "a"}, 1, {state(), "another model"});  // the bundled one
  check_refused({"--state", state(), "a", "--dtype", "f16"}, {"f16", "'f32'", "--dtype"});
  check_refused({"--state", state(), "a", "--kv", "f16"}, {state(), "f16", "'f32'", "--kv"});
  const std::string nowhere = state("no/file");
  check_refused({"a", "--save-state", nowhere}, {nowhere, "No such file or directory"});
}

TEST_CASE("a file that is not a state is not replaced by one") {
  const std::string novel = place().write("novel.txt", "Once upon a time").string();
  check_refused({"a", "-n", "2", "--save-state", novel}, {novel, "not the state of a session"});
  CHECK(read_bytes(novel) == "Once upon a time");
  const std::string empty = place().write("empty", "").string();  // as mktemp makes it
  CHECK(text({"ab", "-n", "1", "--save-state", empty}) == "abc");
  CHECK(text({"--state", empty, "-n", "1", "--save-state", empty}) == "d");
  CHECK(text({"--state", empty, "-n", "1"}) == "e");
}

TEST_CASE("a command that only saves a state writes nothing") {
  const auto written = [](const std::string& tokens) {
    return run({"-m", alphabet_model(), "-n", tokens, "--no-echo", "--save-state", state(), "0"});
  };
  CHECK(written("0").out == "");
  CHECK(written("0").status == 0);
  CHECK(written("9").out == "\n");  // an empty text
}

}  // namespace gpt2::test::state_test
