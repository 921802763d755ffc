// Tests gpt2 --interactive, with lines typed on a terminal and lines from a file.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/session_file.h"
#include "support/temporary_directory.h"

using namespace gpt2::test;

namespace {

constexpr gpt2::TokenId kEnd = 256;

const TemporaryDirectory& place() {
  static const TemporaryDirectory directory;
  return directory;
}

std::string state() { return (place().path() / "state").string(); }

std::vector<gpt2::TokenId> saved_tokens() {
  std::ifstream file(state(), std::ios::binary);
  return fields_of(std::string(std::istreambuf_iterator<char>(file), {})).tokens;
}

// Returns the tokens of the alphabet model for a text, in which $ stands for the end of a text.
std::vector<gpt2::TokenId> ids(const std::string& text) {
  std::vector<gpt2::TokenId> tokens;
  for (const char c : text) tokens.push_back(c == '$' ? kEnd : static_cast<unsigned char>(c));
  return tokens;
}

Outcome talk(Words arguments, const std::string& lines) {
  arguments.insert(arguments.begin(), "-i");
  return run(arguments, {.input = lines});
}

std::string answers(Words arguments, const std::string& lines) {
  const Outcome outcome = talk(std::move(arguments), lines);
  CAPTURE(lines);
  CHECK(outcome.err == "");
  CHECK(outcome.status == 0);
  return outcome.out;
}

std::string letters(const std::string& lines, Words arguments = {"-n", "3"}) {
  arguments.insert(arguments.end(), {"-m", alphabet_model(), "--greedy"});
  return answers(arguments, lines);
}

std::string text(const Words& arguments) {
  const Outcome outcome = run(arguments);
  CAPTURE(arguments, outcome.err);
  CHECK(outcome.status == 0);
  return outcome.out;
}

void check_refused(const std::string& lines, const std::string& out, const std::string& message) {
  const Outcome outcome = talk({"-m", alphabet_model(), "-n", "3"}, lines);
  CAPTURE(lines);
  CHECK(outcome.status != 0);
  CHECK(outcome.out == out);
  CHECK(outcome.err == "gpt2: " + message + "\n");
}

}  // namespace

TEST_CASE("each line is followed by its answer") {
  CHECK(letters("ab\nklm\n") == "cde\nnop\n");
  CHECK(letters("ab\nklm") == "cde\nnop\n");  // without a newline at the end
  const std::string smaller = (place().path() / "smaller").string();
  write_alphabet_model(smaller, 8);
  CHECK(letters("ab\nklm\n", {"-n", "3", "--draft", smaller}) == "cde\nnop\n");
  CHECK(letters("") == "");
  CHECK(letters("\n\n") == "");
  CHECK(letters("//\nd\n", {"-n", "1"}) == "a\ne\n");
  CHECK(letters("b\n", {"-n", "2", "a"}) == "bc\ncd\n");
  const std::string file = place().write("scene", "xyz\n").string();
  CHECK(letters("b\n", {"-n", "1", "-f", file}) == " \nc\n");
}

TEST_CASE("the text is the same as from the same commands with a state") {
  const Words options = {"-n", "12", "-s", "4", "--no-echo"};
  const auto with = [&](Words words) {
    words.insert(words.end(), options.begin(), options.end());
    return text(words);
  };
  std::string expected = with({"Once upon a time", "--save-state", state()});
  expected += with({"--state", state(), "--save-state", state(), "-p", "\nTom said:"});
  expected += with({"--state", state(), "--save-state", state()});
  CHECK(answers({"-n", "12", "-s", "4"}, "Once upon a time\nTom said:\n\n") == expected);
}

TEST_CASE("a line break stands between an answer and the next line, unless there is one") {
  letters("ab\nk\n\n/save " + state() + "\n", {"-n", "1"});
  CHECK(saved_tokens() == ids("abc\nklm"));
  letters("ab\nk\n", {"-n", "9", "--stop", "e\n", "--save-state", state()});
  CHECK(saved_tokens() == ids("abcdefghijk\nklmnopqrst"));
}

TEST_CASE("/again writes the last answer with the next sequence") {
  const auto sequence = [](const char* number) {
    return text({"-n", "9", "--no-echo", "--sequence", number, "Once upon"});
  };
  CHECK(sequence("0") != sequence("1"));
  CHECK(answers({"-n", "9"}, "Once upon\n/again\n/again\n") ==
        sequence("0") + sequence("1") + sequence("2"));
  letters("ab\nk\n/again\n/save " + state() + "\n", {"-n", "1"});
  CHECK(saved_tokens() == ids("abc\nkl"));
}

TEST_CASE("/reset, /save and /load change the text that is continued") {
  CHECK(letters("ab\n/save " + state() + "\nxy\n/load " + state() + "\n\n") ==
        "cde\nz \xef\xbf\xbd\nfgh\n");
  CHECK(letters("\n", {"-n", "3", "--state", state()}) == "fgh\n");
  letters("ab\n/reset\nk\n/save " + state() + "\n");
  CHECK(saved_tokens() == ids("klmn"));
}

TEST_CASE("/set changes an option") {
  CHECK(letters("ab\n/set max_new_tokens 1\n\n/set stop h\n/set max-new-tokens 9\n\n") ==
        "cde\nf\ng\n");
  const std::string wild = answers({"-n", "9", "-s", "5"}, "Once upon\n");
  CHECK(answers({"-n", "9"}, "/set seed 5\nOnce upon\n") == wild);
  CHECK(answers({"-n", "9", "-s", "5"}, "/set greedy\nOnce upon\n") != wild);
}

TEST_CASE("an invalid line is refused, and ends a talk that is read from a file") {
  check_refused("ab\n/agian\nk\n", "cde\n",
                "no command '/agian': /help lists them; to begin a text with a slash, type two");
  check_refused("/again\n", "", "there is no answer to write again");
  check_refused("/save\n", "", "expected /save FILE");
  check_refused("/reset all\n", "", "expected /reset");
  check_refused(
      "/load " + (place().path() / "none").string() + "\n", "",
      "cannot open " + (place().path() / "none").string() + ": No such file or directory");
  check_refused("/set top-q 3\n", "",
                "/set has no option 'top-q' (did you mean 'top-k'?); see 'gpt2 generate --help'");
  for (const std::string option : {"json", "stats"}) {
    check_refused("/set " + option + "\n", "",
                  "/set has no option '" + option +
                      "': it changes only how tokens are drawn and where a text ends; see 'gpt2 "
                      "generate --help'");
  }
  check_refused("/set top-k x\n", "",
                "--top-k: expected a whole number from 0 to 1000000000, found 'x'; see 'gpt2 "
                "generate --help'");
}

TEST_CASE("/set changes what happens when the context is full") {
  CHECK(letters("/set keep 1\n/set overflow stop\nab\n") == "cde\n");
  check_refused("/set keep x\n", "",
                "--keep: expected a whole number from 0 to 1000000000, found 'x'; see 'gpt2 "
                "generate --help'");
}

TEST_CASE("/set refuses what the model does not allow") {
  check_refused("/set suppress_tokens 257\n", "",
                "--suppress-tokens: expected token ids from 0 to 256, found 257; see 'gpt2 "
                "generate --help'");
}

TEST_CASE("/help OPTION prints the help of an option, and /exit ends the talk as /quit does") {
  const Outcome outcome = talk({"-m", alphabet_model()}, "/help top_k\n/exit\nab\n");
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "");
  CHECK(outcome.err.starts_with("  --top-k N "));
  CHECK(run({"--help"}).out.find("\n" + outcome.err) == std::string::npos);
  CHECK(run({"generate", "--help"}).out.find("\n" + outcome.err) != std::string::npos);
}

TEST_CASE("a text that no longer fits the context slides") {
  const TemporaryDirectory small;
  write_alphabet_model(small.path(), 8);
  const Words in_small = {"-m", small.path().string(), "--greedy", "-n", "3"};
  const auto with = [&](Words words, const std::string& lines) {
    words.insert(words.end(), in_small.begin(), in_small.end());
    return talk(words, lines + "/save " + state() + "\n");
  };
  CHECK(with({}, "ab\nk\nt\nbcd\n").out == "cde\nlmn\nuvw\nefg\n");
  CHECK(with({}, "ab\nklmn\n").out == "cde\nopq\n");  // abcde -> de, and \nklmn
  CHECK(with({"--overflow", "slide", "--keep", "2"}, "ab\nklmn\n").out == "cde\nopq\n");
  CHECK(saved_tokens()[0] == 'a');
  CHECK(saved_tokens()[1] == 'b');
  CHECK(with({}, "ab\nklmnopq\n").err ==
        "gpt2: the line has 8 tokens, but the model takes at most 7: shorten it\n");
  CHECK(with({"--overflow", "stop"}, "ab\nklmn\n").err ==
        "gpt2: the context of 8 tokens is full: /reset forgets the text\n");
}

TEST_CASE("a turn of a dialog ends with the end-of-text token") {
  CHECK(letters("xy\n\nk\n", {"-n", "3", "--dialog", "--save-state", state()}) == "abc\nabc\n");
  CHECK(saved_tokens() == ids("xy$abc$k$abc"));
  CHECK(letters("t\n", {"-n", "3", "--dialog", "--state", state()}) == "abc\n");
}

TEST_CASE("options that make no sense in a talk are refused") {
  for (const std::string option :
       {"--json", "--tokens", "--no-echo", "--no-newline", "--truncate"}) {
    const Outcome outcome = talk({option}, "");
    CHECK(outcome.status == 2);
    CHECK(outcome.err == "gpt2: " + option + " cannot be combined with --interactive" +
                             ": give only one of them; see 'gpt2 generate --help'\n");
  }
  CHECK(talk({"--num-beams", "2"}, "").err ==
        "gpt2: --interactive cannot be combined with --num-beams: give only one of them; see "
        "'gpt2 generate --help'\n");
  CHECK(run({"--dialog", "a"}).err ==
        "gpt2: --dialog requires --interactive; see 'gpt2 generate --help'\n");
}

namespace {

const Surroundings kTerminal = {
    .environment = {"TERM=xterm"}, .terminal = true, .terminal_errors = true};

}  // namespace

TEST_CASE("on a terminal, lines can be edited, and an error does not end the talk") {
  Command command({"-i", "-m", alphabet_model(), "-n", "3"}, kTerminal);
  command.type_after("> ", "abx\x7f\r");
  command.read(4);
  CHECK(command.out == "cde\n");
  command.type_after("\n> ", "\x1b[A\r");  // the arrow up
  command.read(8);
  CHECK(command.out == "cde\ncde\n");
  command.type_after("\n> ", "\xc3\xa9\x7fk\r");  // an e with an accent, which is erased
  command.read(12);
  CHECK(command.out == "cde\ncde\nlmn\n");
  command.type_after("\n> ", "/again 2\r");
  command.type_after("gpt2: expected /again\r\n> ", "/help\r");
  command.type_after("/quit ", "");
  command.type_after("\n> ", "\x04");
  CHECK(command.wait() == 0);
}

TEST_CASE("on a terminal, Ctrl-C stops the text and drops the line, but not the command") {
  Command command({"-i", "-m", alphabet_model(), "-n", "100000000"}, kTerminal);
  command.type_after("> ", "ab\r");
  command.read(10);
  command.send(SIGINT);
  command.type_after("\n> ", "dropped");
  command.await_error("dropped");
  command.send(SIGINT);
  command.type_after("\n> ", "/set max_new_tokens 2\r");
  command.type_after("\n> ", "a\r");
  command.type_after("\n> ", "/quit\r");
  CHECK(command.wait() == 0);
  CHECK(command.out.starts_with("cdefghi"));
  CHECK(command.out.ends_with("\nbc\n"));
}

TEST_CASE("signals other than Ctrl-C end a talk") {
  Command by_hand({"-i", "-m", alphabet_model()}, kTerminal);
  by_hand.await_error("> ");
  by_hand.send(SIGTERM);
  CHECK(by_hand.wait() == -SIGTERM);

  Command from_file({"-i", "-m", alphabet_model(), "-n", "100000000"}, {.input = "ab\nk\n"});
  from_file.read(10);
  from_file.send(SIGINT);
  CHECK(from_file.wait() == -SIGINT);
}
