// Tests gpt2 --interactive, with lines typed on a terminal and lines from a file.
#include <csignal>

#include "base/system/process.h"
#include "gpt2/option_fields.h"
#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/session_file.h"
#include "support/test.h"

namespace gpt2::test::talk_test {

namespace {

constexpr gpt2::TokenId kEnd = 256;

const TemporaryDirectory& place() {
  static const TemporaryDirectory directory;
  return directory;
}

std::string state() { return (place().path() / "state").string(); }

std::vector<gpt2::TokenId> saved_tokens() { return fields_of(read_bytes(state())).tokens; }

// Returns the tokens of the alphabet model for a text, in which $ stands for the end of a text.
std::vector<gpt2::TokenId> ids(const std::string& text) {
  std::vector<gpt2::TokenId> tokens;
  for (const char c : text) tokens.push_back(c == '$' ? kEnd : static_cast<unsigned char>(c));
  return tokens;
}

Outcome talk(const Words& arguments, const std::string& lines) {
  return run(joined_words({"-i"}, arguments), {.input = lines});
}

std::string answers(const Words& arguments, const std::string& lines) {
  return output_of(joined_words({"-i"}, arguments), {.input = lines});
}

std::string letters(const std::string& lines, const Words& arguments = {"-n", "3"}) {
  return answers(joined_words({"-m", alphabet_model(), "--greedy"}, arguments), lines);
}

// The mistake is in the last of the lines. The message names it and has each of these facts.
void check_refused(const std::string& lines, const std::string& out, const Words& facts,
                   const std::string& model = alphabet_model(), const Words& more = {}) {
  const Outcome outcome = talk(joined_words({"-m", model, "-n", "3", "--greedy"}, more), lines);
  CAPTURE(lines, outcome.err);
  CHECK(outcome.status == 1);
  CHECK(outcome.out == out);
  const auto number = std::ranges::count(lines, '\n');
  CHECK(outcome.err.starts_with("gpt2: line " + std::to_string(number) + ": "));
  CHECK(outcome.err.size() < 300);
  for (const std::string& fact : facts) CHECK(outcome.err.find(fact) != std::string::npos);
}

std::string list(const std::string& lines, const Words& more = {}) {
  return talk(joined_words({"-m", alphabet_model()}, more), lines + "/set\n").err;
}

const Surroundings kTerminal = {
    .environment = {"TERM=xterm"}, .terminal = true, .terminal_errors = true};

// All standard streams are the same terminal.
const Surroundings kWholeTerminal = {.environment = {"TERM=xterm"},
                                     .terminal = true,
                                     .terminal_errors = true,
                                     .terminal_output = true,
                                     .columns = 200};

// Types lines one after the other, and returns what the terminal shows from the answer to the last
// one to the next prompt.
std::string shown_after(const Words& lines) {
  Command command({"-i", "-m", alphabet_model(), "-n", "3", "--greedy"}, kWholeTerminal);
  for (const std::string& line : lines) command.type_after("> ", line + "\r");
  command.await_error("\r\n");  // the echo of the last line
  command.err.erase(0, command.err.find("\r\n") + 2);
  command.await_error("> ");
  return command.err.substr(0, command.err.find("> "));
}

}  // namespace

TEST_CASE("each line is followed by its answer") {
  CHECK(letters("ab\nklm\n") == "cde\nnop\n");
  CHECK(letters("ab\nklm") == "cde\nnop\n");  // without a newline at the end
  const AlphabetModel smaller(8);
  CHECK(letters("ab\nklm\n", {"-n", "3", "--draft", smaller.name()}) == "cde\nnop\n");
  CHECK(letters("") == "");
  CHECK(letters("//\nd\n", {"-n", "1"}) == "a\ne\n");
  CHECK(letters("b\n", {"-n", "2", "a"}) == "bc\ncd\n");
  const std::string file = place().write("scene", "xyz\n").string();
  CHECK(letters("b\n", {"-n", "1", "-f", file}) == " \nc\n");
}

TEST_CASE("the text is the same as from the same commands with a state") {
  const Words options = {"-n", "12", "-s", "4", "--no-echo"};
  const auto with = [&](const Words& words) { return run(joined_words(words, options)).out; };
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
    return run({"-n", "9", "--no-echo", "--sequence", number, "Once upon"}).out;
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
  letters("ab\n/reset\nk\n/save " + state() + "\n");
  CHECK(saved_tokens() == ids("klmn"));
}

TEST_CASE("/set max_new_tokens replaces the max_length of --hf-defaults") {
  const AlphabetModel model(16);
  model.write("generation_config.json", R"({"max_length": 6})");
  const auto written = [&](const std::string& lines) {
    return answers({"-m", model.name(), "--hf-defaults"}, lines);
  };
  CHECK(written("ab\n") == "cdefgh\n");
  CHECK(written("/set max_new_tokens 1\nab\n/again\n") == "c\nc\n");
  CHECK(written("/set max_new_tokens 1\n/unset max_new_tokens\nab\n") == "cdefgh\n");
}

TEST_CASE("~ in the name of a file is the home directory") {
  const TemporaryDirectory home;
  const std::string variable = std::string(gpt2::kHomeVariable) + "=";
  const auto with = [&](const std::string& lines, const std::string& path) {
    return run({"-i", "-m", alphabet_model(), "-n", "3", "--greedy"},
               {.input = lines, .environment = {variable + path}});
  };
  CHECK(with("ab\n/save\t~/a talk \n/reset\n/load ~/a talk\n\n", home.path().string()).out ==
        "cde\nfgh\n");
  CHECK(std::filesystem::exists(home.path() / "a talk"));
  CHECK(with("/load ~/talk\n", "").err.find(gpt2::kHomeVariable) != std::string::npos);
}

TEST_CASE("a text that no longer fits the context slides, and a turn of it can be taken back") {
  const AlphabetModel model(8);
  const std::string small = model.name();
  const Words saving = {"-m", small, "--greedy", "-n", "3", "--save-state", state()};
  const auto with = [&](const Words& words, const std::string& lines) {
    return talk(joined_words(words, saving), lines).out;
  };
  CHECK(with({}, "ab\nk\nt\nbcd\n") == "cde\nlmn\nuvw\nefg\n");
  CHECK(with({}, "ab\nklmn\n/undo\n\n") == "cde\nopq\nfgh\n");  // abcde -> de, and \nklmn
  CHECK(with({"--overflow", "slide", "--keep", "2"}, "ab\nklmn\n") == "cde\nopq\n");
  CHECK(saved_tokens()[0] == 'a');
  CHECK(saved_tokens()[1] == 'b');
  check_refused("ab\nklmnopqr\n", "cde\n", {"9 tokens"}, small);
  check_refused("ab\nklmn\n", "cde\n", {"room for 3"}, small, {"--overflow", "stop"});
  // An answer that cannot be written again stays.
  CHECK(with({}, "ab\nklmn\n/set overflow stop\n/again\n") == "cde\nopq\n");
  CHECK(saved_tokens().back() == 'q');
}

TEST_CASE("/undo takes back the last line and its answer") {
  letters("ab\nxy\n/undo\n/save " + state() + "\n");
  CHECK(saved_tokens() == ids("abcde"));
  CHECK(letters("ab\nk\n/undo\nt\n/again\n\n") == "cde\nlmn\nuvw\nuvw\nxyz\n");
}

TEST_CASE("/set changes an option") {
  CHECK(letters("ab\n/set max_new_tokens 1\n\n/set stop h\n/set\tmax-new-tokens\t9\n\n") ==
        "cde\nf\ng\n");
  const std::string wild = answers({"-n", "9", "-s", "5"}, "Once upon\n");
  CHECK(answers({"-n", "9"}, "/set seed 5\nOnce upon\n") == wild);
  CHECK(letters("/set keep 1\n/set overflow stop\nab\n") == "cde\n");
  CHECK(letters("/set ignore_eos true\n/set ignore_eos false\n/set ignore_eos\nab\n") == "cde\n");
}

TEST_CASE("/set stop takes a text, or JSON with its escapes") {
  CHECK(letters("/set stop [\"e\", \"d\"]\nab\n") == "c\n");
  CHECK(letters("/set stop \"e\"\n/set stop \"x\"\nab\n") == "cde\n");  // replaced
  CHECK(letters("/set stop \"\\u0065\"\nab\n") == "cd\n");
  CHECK(letters("/set stop \\n\nab\n") == "cde\n");
  CHECK(letters("/set stop \"z \"\nx\n") == "y\n");
  for (const std::string value : {"\"Tom", "\"Tom\" 5", "[\"Tom\", 5]", "{\"a\": 1}", "[[[[[[[["}) {
    check_refused("/set stop " + value + "\n", "", {"stop: "});
  }
}

TEST_CASE("an invalid line is refused, and ends a talk that is read from a file") {
  const std::string novel = place().write("novel.txt", "Once upon a time").string();
  const std::string none = (place().path() / "none").string();
  const std::string empty = "the text is still empty";
  const std::pair<std::string, Words> cases[] = {
      {"/json", {"'/json'", "/help"}},
      {"/" + std::string(2 << 20, 'x'), {"xxx...'"}},
      {"/again", {"no answer"}},
      {"/undo", {"no line"}},
      {"", {empty}},
      {"/save", {"/save FILE"}},
      {"/save " + state(), {empty}},
      {"/reset all", {"expected /reset"}},
      {"/load " + none, {none, "No such file"}},
      {"/load " + novel, {novel, "is not the state of a session"}},
      {"/set top-q 1", {"'top-q'", "/set"}},
      {"/unset top-q", {"'top-q'"}},
      {"/set top-k x", {"top_k", "0 to 1000000000", "\"x\""}},
      {"/set top_k " + std::string(2 << 20, 'x'), {"top_k", "\"xxx"}},
      {"/set keep 1000000001", {"keep", "0 to 1000000000", "found 1000000001"}},
      {"/set suppress_tokens 257", {"suppress_tokens", "257", "0 to 256"}}};
  for (const auto& [line, facts] : cases) check_refused(line + "\n", "", facts);
  check_refused("ab\n/save " + novel + "\n", "cde\n", {novel, "is not the state of a session"});
  CHECK(std::filesystem::file_size(novel) == 16);
  check_refused("ab\n/undo\n/again\n", "cde\n", {"no answer"});
  check_refused("ab\n/undo\n/undo\n", "cde\n", {"no line"});
  check_refused("ab\n/reset\n\n", "cde\n", {empty});
  // The answers before the mistake are saved.
  check_refused("ab\n/json\n", "cde\n", {"/json"}, alphabet_model(), {"--save-state", state()});
  CHECK(saved_tokens() == ids("abcde"));
}

TEST_CASE("a turn of a dialog ends with the end-of-text token") {
  CHECK(letters("xy\n\nk\n", {"-n", "3", "--dialog", "--save-state", state()}) == "abc\nabc\n");
  CHECK(saved_tokens() == ids("xy$abc$k$abc"));
  CHECK(letters("t\n", {"-n", "3", "--dialog", "--state", state()}) == "abc\n");
}

TEST_CASE("on a terminal, lines can be edited, and an error does not end the talk", "[terminal]") {
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

TEST_CASE("pasted lines are one line, which can be edited", "[terminal]") {
  Command command({"-i", "-m", alphabet_model(), "-n", "3"}, kTerminal);
  command.type_after("> ",
                     "\x1b[200~x\rak\x1b[201~\x7f"
                     "b\r");
  command.read(4);
  CHECK(command.out == "cde\n");
  command.type_after("\n> ", "/save " + state() + "\r");
  command.type_after("\n> ", "\x04");
  CHECK(command.wait() == 0);
  CHECK(saved_tokens() == ids("x\nabcde"));
}

TEST_CASE("a talk on a terminal says what /undo, /save and /load did", "[terminal]") {
  CHECK(shown_after({"ab", "/undo"}).find("0 tokens") != std::string::npos);
  CHECK(shown_after({"ab", "/save " + state()}).find(state()) != std::string::npos);
  const std::string loaded = "gpt2: loaded 5 tokens from " + state() + ": abcde\r\n";
  CHECK(shown_after({"/load " + state()}) == loaded);
  Command resumed({"-i", "-m", alphabet_model(), "--state", state()}, kWholeTerminal);
  resumed.await_error("> ");
  CHECK(resumed.err.find(alphabet_model() + ": ") != std::string::npos);
  CHECK(resumed.err.find(" parameters, a context of 1024 tokens.") != std::string::npos);
  CHECK(resumed.err.find("/help") != std::string::npos);
  CHECK(resumed.err.find(loaded) != std::string::npos);
  // "ab" and 240 letters: more than is shown.
  const std::string whole = letters("ab\n/save " + state() + "\n", {"-n", "240"});
  const std::string shown = shown_after({"/load " + state()});
  CHECK(shown.starts_with("gpt2: loaded 242 tokens from " + state() + ": ..."));
  CHECK(shown.ends_with(whole.substr(whole.size() - 31, 30) + "\r\n"));
  CHECK(shown_after({"/set top_p 2", "ab"}) == "cde\r\n");  // a mistake changes nothing
}

TEST_CASE("/set alone lists the options, and marks those that were set") {
  const auto has = [](const std::string& text, const std::string& name, const std::string& value) {
    return text.find(name + std::string(36 - name.size(), ' ') + value + "\n") != text.npos;
  };
  const std::string defaults = list("");
  CHECK(has(defaults, "  temperature", "0.8"));
  CHECK(has(defaults, "  overflow", "slide"));
  CHECK(has(defaults, "  bad_words", "none"));
  CHECK(defaults.find("\n* t") == std::string::npos);
  const std::string changed = list(
      "/set stop \"x y\"\n/set stop z\n/set temperature 1.5\n/set temperature 0.8\n"
      "/set logit_bias 1=1\n/set logit_bias {\"5\": 1, \"6\": -2}\n",
      {"-t", "1", "--top-k", "7"});
  CHECK(has(changed, "* top_k", "7"));
  CHECK(has(changed, "* stop", R"(["z"])"));
  CHECK(has(changed, "* logit_bias", R"({"5":1,"6":-2})"));  // all values are replaced
  CHECK(has(changed, "* temperature", "0.8"));
  CHECK(list("/set  top_k  7\n/unset  top_k\n") == defaults);
}

TEST_CASE("/set can change every option of the table, and /unset takes it back") {
  const std::string defaults = list("");
  const auto check = [&](const auto& field) {
    const std::string name = field.name;
    CAPTURE(name);
    REQUIRE(defaults.find("  " + name + ' ') != std::string::npos);
    // A value that each type has, and one that is not the default of a number or a switch.
    std::string changed;
    for (const std::string value : {"1", "0.5", "true", "stop", "1=1", "1,2=1", "5,1.05", "x"}) {
      const std::string set = "/set " + name + ' ' + value + '\n';
      const Outcome outcome = talk({"-m", alphabet_model()}, set + "/set\n");
      if (outcome.status != 0 || outcome.err == defaults) continue;
      changed = set;
      break;
    }
    REQUIRE(changed != "");
    CHECK(list(changed).find("* " + name + ' ') != std::string::npos);
    CHECK(list(changed + "/unset " + name + '\n') == defaults);
  };
  for_each_sampling_field(check);
  for (const char* const name : {"max_new_tokens", "stop", "ignore_eos", "overflow", "keep"}) {
    CHECK(defaults.find("  " + std::string(name) + ' ') != std::string::npos);
  }
}

TEST_CASE("on a terminal, Ctrl-C stops the text and drops the line, but not the command",
          "[terminal]") {
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

TEST_CASE("signals other than Ctrl-C end a talk, which is saved", "[terminal]") {
  constexpr int kHangUp = 1;  // SIGHUP, which Windows does not have
  for (const int signal : {SIGTERM, kHangUp}) {
    for (const std::string most : {"3", "100000000"}) {  // it waits for a line; it still writes
      const Words words = {"-i", "-m", alphabet_model(), "--greedy",
                           "-n", most, "--save-state",   state()};
      Command command(words, kTerminal);
      command.type_after("> ", "ab\r");
      command.read(4);
      if (most == "3") command.await_error("\n> ");
      command.send(signal);
      CHECK(command.wait() == -signal);
      auto tokens = saved_tokens();
      REQUIRE(tokens.size() >= 5);
      tokens.resize(5);
      CHECK(tokens == ids("abcde"));
      std::filesystem::remove(state());
    }
  }
}

TEST_CASE("a signal ends a talk that waits for a line of a pipe, and saves it", "[posix]") {
  for (const int signal : {SIGINT, SIGTERM}) {
    Command command({"-i", "-m", alphabet_model(), "--greedy", "-n", "3", "--save-state", state()},
                    {.pipe = true});
    command.write("ab\n");
    command.read(4);
    command.send(signal);
    CHECK(command.wait() == -signal);
    CHECK(saved_tokens() == ids("abcde"));
    std::filesystem::remove(state());
  }
}

TEST_CASE("Ctrl-C ends a talk that is read from a file") {
  Command from_file({"-i", "-m", alphabet_model(), "-n", "100000000"}, {.input = "ab\nk\n"});
  from_file.read(10);
  from_file.send(SIGINT);
  CHECK(from_file.wait() == -SIGINT);
}

}  // namespace gpt2::test::talk_test
