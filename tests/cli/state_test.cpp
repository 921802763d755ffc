// Tests gpt2 generate --save-state and --state: another process continues a text.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/alphabet_text.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/temporary_directory.h"

namespace gpt2::test::state_test {

namespace fs = std::filesystem;

namespace {

const TemporaryDirectory& place() {
  static const TemporaryDirectory directory;
  return directory;
}

// Returns the name of a file for a state.
std::string state(const std::string& name = "state") { return (place().path() / name).string(); }

std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

void check_refused(const Words& arguments, int status, const std::string& message) {
  const Outcome outcome = generate(arguments);
  CAPTURE(arguments);
  CHECK(outcome.err == "gpt2: " + message + "\n");
  CHECK(outcome.status == status);
  CHECK(outcome.out == "");
}

const std::string kHelp = "; see 'gpt2 generate --help'";

}  // namespace

TEST_CASE("the new prompt and its continuation are written") {
  CHECK(text({"ab", "-n", "3", "--save-state", state()}) == "abcde");
  CHECK(text({"--state", state(), "xy", "-n", "2"}) == "xyz ");
  CHECK(text({"--state", state(), "--no-echo", "xy", "-n", "2"}) == "z ");
  CHECK(text({"--state", state(), "-n", "3"}) == "fgh");
  CHECK(text({"--state", state(), "-n", "3"}, {.input = "k\n"}) == "klmn");
  const Outcome json = run({"-m", alphabet_model(), "--json", "--state", state(), "xy", "-n", "1"});
  const auto object = nlohmann::json::parse(json.out);
  CHECK(object["prompt"] == "xy");
  CHECK(object["prompt_token_ids"] == nlohmann::json{120, 121});
  CHECK(object["text"] == "z");
}

TEST_CASE("with a state, a terminal is not asked for a prompt", "[terminal]") {
  text({"ab", "-n", "3", "--save-state", state()});
  CHECK(text({"--state", state(), "-n", "3"}, {.terminal = true}) == "fgh");
}

TEST_CASE("two commands write the same text as one, for any option and instruction set") {
  const Words wild = {"--tokens", "--temperature", "100", "--top-k",
                      "0",        "--ignore-eos",  "-s",  "5"};
  const auto with = [&](Words words, const Surroundings& surroundings = {}) {
    words.insert(words.end(), wild.begin(), wild.end());
    return text(words, surroundings);
  };
  const std::string whole = with({"97 98", "-n", "300"});
  for (const std::string first : {"1", "253", "254", "255"}) {
    const std::string rest = std::to_string(300 - std::stoi(first));
    const std::string begin =
        with({"97 98", "-n", first, "--save-state", state()}, {.environment = {"GPT2_ISA=scalar"}});
    const std::string bytes = bytes_of(state());
    with({"97 98", "-n", first, "-t", "2", "--draft", "prompt", "--save-state", state()});
    CHECK(bytes_of(state()) == bytes);
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

  const TemporaryDirectory small;
  write_alphabet_model(small.path(), 8);
  const auto with = [&](Words words) {
    words.insert(words.end(), {"-m", small.path().string(), "--save-state", state()});
    return run(words);
  };
  CHECK(with({"abc"}).out == "abcdefghi\n");  // i has no place in the context
  CHECK(with({"--state", state(), "-n", "3"}).out == "i\n");
  const Outcome full = with({"--state", state(), "xyz"});
  CHECK(full.status == 1);
  CHECK(full.err.find("the prompt has 3 tokens, but the session has room for 0, after the 8 tokens") !=
        std::string::npos);
  CHECK(with({"--state", state(), "klm", "--overflow", "slide", "-n", "3"}).out == "klmnop\n");
  const Words kept = {"--state", state(), "xyz", "--overflow", "slide", "--keep", "6"};
  CHECK(with(kept).err.find("3 tokens, but the session has room for 2, after the 6 tokens that it "
                            "keeps") != std::string::npos);
}

TEST_CASE("numbers of tokens that include the prompt include the state") {
  text({"abcdefgh", "-n", "0", "--save-state", state()});
  const Outcome short_text = generate({"--state", state(), "k", "-n", "0", "--stats"});
  CHECK(short_text.err.find("prompt      1 token,") == 0);
  const Outcome none = generate({"--state", state(), "-n", "3", "--stats"});
  CHECK(none.err.find("prompt      0 tokens\ngeneration  3 tokens,") == 0);
  CHECK(text({"--state", state(), "z0", "-n", "3", "--greedy"}) == "z0");
  CHECK(text({"--state", state(), "z0", "-n", "3", "--greedy", "--min-length", "10"}) == "z0");
  CHECK(text({"--state", state(), "z0", "-n", "3", "--greedy", "--min-length", "11"}) != "z0");
}

TEST_CASE("a text from a state slides as it does in one command") {
  const TemporaryDirectory small;
  write_alphabet_model(small.path(), 8);
  const auto with = [&](Words words) {
    words.insert(words.end(), {"-m", small.path().string(), "--overflow", "slide", "--no-newline"});
    return run(words).out;
  };
  const std::string begin = with({"abc", "-n", "3", "--save-state", state()});
  CHECK(begin + with({"--state", state(), "-n", "20"}) == with({"abc", "-n", "23"}));
}

TEST_CASE("a state saved after a slide continues with the noise and the counts of one command") {
  const TemporaryDirectory small;
  write_alphabet_model(small.path(), 8);
  const auto with = [&](Words words) {
    words.insert(words.end(), {"-m", small.path().string(), "--overflow", "slide", "--tokens",
                               "--temperature", "100", "--top-k", "0", "--ignore-eos",
                               "--frequency-penalty", "2", "--no-newline"});
    return run(words).out;
  };
  const std::string whole = with({"97 98", "-n", "60"});
  const std::string first = with({"97 98", "-n", "25", "--save-state", state()});
  const std::string second = with({"--state", state(), "-n", "20", "--save-state", state()});
  CHECK(first + " " + second + " " + with({"--state", state(), "-n", "15"}) == whole);
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

TEST_CASE("a state that cannot be used is refused before anything is written") {
  text({"a", "-n", "2", "--save-state", state()});
  check_refused({"--state", state("none"), "a"}, 1,
                "cannot open " + state("none") + ": No such file or directory");
  const std::string bytes = bytes_of(state());
  const std::string cut = place().write("cut", bytes.substr(0, bytes.size() / 2)).string();
  check_refused({"--state", cut, "a"}, 1,
                cut + ": is cut short or damaged: expected " + std::to_string(bytes.size()) +
                    " bytes, found " + std::to_string(bytes.size() / 2) + " bytes");
  const Outcome other = run({"--state", state(), "a"});  // the bundled model
  CHECK(other.status == 1);
  CHECK(other.err.find("is the state of another model: expected ") != std::string::npos);
  const Outcome type = generate({"--state", state(), "a", "--dtype", "f16"});
  CHECK(type.err.find("a model with other weights: expected f16, found 'f32'; load the model with "
                      "that type (LoadOptions::dtype, or --dtype)") != std::string::npos);
  const Outcome kv = generate({"--state", state(), "a", "--kv", "f16"});
  CHECK(kv.err == "gpt2: " + state() +
                      ": is a state with keys and values of another type: expected f16, found "
                      "'f32'; choose that type (EngineOptions::kv_type, or --kv)\n");
}

TEST_CASE("a file that is not a state is not replaced by one") {
  const std::string novel = place().write("novel.txt", "Once upon a time").string();
  check_refused({"a", "-n", "2", "--save-state", novel}, 1,
                novel +
                    " is not the state of a session, so it is not replaced by one: give another "
                    "file");
  CHECK(bytes_of(novel) == "Once upon a time");
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

TEST_CASE("a state that cannot be written is an error before the text") {
  const Outcome outcome = generate({"a", "-n", "2", "--save-state", state("no/file")});
  CHECK(outcome.out == "");
  CHECK(outcome.status == 1);
  CHECK(outcome.err ==
        "gpt2: " + state("no/file") + ": cannot be written: No such file or directory\n");
}

TEST_CASE("options that make no sense with a state are refused") {
  check_refused({"--state", state(), "--truncate", "a"}, 2,
                "--truncate cannot be combined with --state: give only one of them" + kHelp);
  for (const std::string option : {"--state", "--save-state"}) {
    check_refused(
        {option, state(), "--samples", "2", "a"}, 2,
        "--samples cannot be combined with " + option + ": give only one of them" + kHelp);
  }
  check_refused({"--state", "", "a"}, 2, "--state: expected a file, found ''" + kHelp);
  check_refused({"--save-state", "", "a"}, 2, "--save-state: expected a file, found ''" + kHelp);
}

}  // namespace gpt2::test::state_test
