// Tests gpt2 --interactive, with lines typed on a terminal and lines from a file.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/system/process.h"
#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/session_file.h"
#include "support/temporary_directory.h"

namespace gpt2::test::talk_test {

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

// The mistake is in the last line, or in the line with this number.
void check_refused(const std::string& lines, const std::string& out, const std::string& message,
                   long number = 0) {
  const Outcome outcome = talk({"-m", alphabet_model(), "-n", "3"}, lines);
  if (number == 0) number = std::ranges::count(lines, '\n');
  CAPTURE(lines);
  CHECK(outcome.status == 1);
  CHECK(outcome.out == out);
  CHECK(outcome.err == "gpt2: line " + std::to_string(number) + ": " + message + "\n");
}

}  // namespace

TEST_CASE("each line is followed by its answer") {
  CHECK(letters("ab\nklm\n") == "cde\nnop\n");
  CHECK(letters("ab\nklm") == "cde\nnop\n");  // without a newline at the end
  const std::string smaller = (place().path() / "smaller").string();
  write_alphabet_model(smaller, 8);
  CHECK(letters("ab\nklm\n", {"-n", "3", "--draft", smaller}) == "cde\nnop\n");
  CHECK(letters("") == "");
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

TEST_CASE("/write writes the text to a new file") {
  const std::string file = (place().path() / "story.txt").string();
  const auto content = [&file] {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  letters("ab\nk\n/write " + file + "\n");
  CHECK(content() == "abcde\nklmn\n");
  check_refused("ab\n/write " + file + "\n", "cde\n", file + " exists: give another file");
  CHECK(content() == "abcde\nklmn\n");
  std::filesystem::remove(file);
  check_refused("/write " + file + "\n", "", "the text is still empty: type its beginning");
  CHECK_FALSE(std::filesystem::exists(file));
  letters("xy\nk\n/write " + file + "\n", {"-n", "3", "--dialog"});
  CHECK(content() == "xy\nabc\nk\nabc\n");
  std::filesystem::remove(file);
  // What a slide has dropped is lost: abcde -> de, and \nklmn.
  const TemporaryDirectory small;
  write_alphabet_model(small.path(), 8);
  CHECK(talk({"-m", small.path().string(), "--greedy", "-n", "1"},
             "ab\n\n\nklmn\n/write " + file + "\n")
            .err == "gpt2: the file lacks 3 tokens that no longer fitted the context\n");
  CHECK(content() == "de\nklmno\n");
}

TEST_CASE("~ in the name of a file is the home directory") {
  const TemporaryDirectory home;
  const std::string variable = std::string(gpt2::kHomeVariable) + "=" + home.path().string();
  const Words arguments = {"-i", "-m", alphabet_model(), "-n", "3", "--greedy"};
  const Outcome outcome =
      run(arguments, {.input = "ab\n/save ~/talk\n/write ~/text\n/reset\n/load ~/talk\n\n",
                      .environment = {variable}});
  CHECK(outcome.err == "");
  CHECK(outcome.out == "cde\nfgh\n");
  CHECK(std::filesystem::exists(home.path() / "talk"));
  CHECK(std::filesystem::exists(home.path() / "text"));
  CHECK(run(arguments,
            {.input = "/load ~/talk\n", .environment = {std::string(gpt2::kHomeVariable) + "="}})
            .err == "gpt2: line 1: ~/talk: there is no home directory, because $" +
                        std::string(gpt2::kHomeVariable) + " is not set\n");
}

TEST_CASE("the name of a file may be in quotes, and a tab may stand before it") {
  const TemporaryDirectory folder;
  const std::string in = folder.path().string() + "/";
  letters("ab\n/write \"" + in + "a b.txt\"\n/save\t'" + in + "c'\t\n/write " + in + "it's\n");
  CHECK(std::filesystem::exists(in + "a b.txt"));
  CHECK(std::filesystem::exists(in + "it's"));
  CHECK(letters("/load '" + in + "c'\n/set\tmax_new_tokens\t1\n\n") == "f\n");
  for (const std::string name : {"\"", "'a", "'a' 'b'", "\"a'", "~/\"a b\""}) {
    check_refused("/save " + name + "\n", "",
                  "expected a file, or one in quotes, found '" + name + "'");
  }
  check_refused("/save ''\n", "", "expected a file, found ''");
}

TEST_CASE("the name of a directory is refused") {
  const std::string folder = place().path().string();
  for (const std::string command : {"/write ", "/save ", "/load "}) {
    check_refused(command + "~\n", "", "~ is a directory: give the name of a file");
    check_refused(command + folder + "\n", "", folder + " is a directory: give the name of a file");
  }
}

TEST_CASE("/load names the option that reads a text") {
  const std::string novel = place().write("read.txt", "Once upon a time").string();
  check_refused("/load " + novel + "\n", "",
                novel +
                    ": is not the state of a session: expected a file that begins with 'gpt2sess', "
                    "found 'Once upo'; to go on with a text, give it as the prompt (--file)");
}

TEST_CASE("a message quotes only the beginning of a long line") {
  const std::string text(2 << 20, 'x');
  check_refused("/" + text + "\n", "",
                "no command '/" + text.substr(0, 79) +
                    "...': /help lists them; to begin a text with a slash, type two");
  for (const std::string begin :
       {"/set ", "/set top_k ", "/set seed ", "/set ignore_eos ", "/set suppress_tokens ",
        "/set forced_bos_token_id ", "/set logit_bias ", "/set overflow ", "/set stop \"",
        "/unset ", "/help ", "/load ", "/save ", "/write ", "/write '"}) {
    const Outcome outcome = talk({"-m", alphabet_model()}, begin + text + "\n");
    CAPTURE(begin);
    CHECK(outcome.status == 1);
    CHECK(outcome.err.find("xxx...'") != std::string::npos);
    CHECK(outcome.err.size() < 300);
  }
}

TEST_CASE("/save does not replace a file that is not a state") {
  const std::string novel = place().write("novel.txt", "Once upon a time").string();
  check_refused("ab\n/save " + novel + "\n", "cde\n",
                novel +
                    " is not the state of a session, so it is not replaced by one: give another "
                    "file");
  CHECK(std::filesystem::file_size(novel) == 16);
  check_refused("/save " + state() + "\n", "", "the text is still empty: type its beginning");
  CHECK(talk({}, "/help\n")
            .err.find("/save FILE           save the session to FILE, for /load and --state "
                      "alone\n") != std::string::npos);
}

TEST_CASE("/set stop takes texts in quotes, with the escapes of JSON") {
  CHECK(letters("/set stop \"e\" \"d\"\nab\n") == "c\n");
  CHECK(letters("/set stop \"e\"\n/set stop \"x\"\nab\n") == "cde\n");  // replaced
  CHECK(letters("/set stop \\u0065\nab\n") == "cd\n");
  CHECK(letters("/set stop \"z \"\nx\n") == "y\n");
  const std::string list = talk({"-m", alphabet_model()}, "/set stop \\n\n/set\n").err;
  CHECK(list.find("* stop                              \"\\n\"\n") != std::string::npos);
  const std::string expected =
      "stop: expected a text without spaces, or texts in quotes such as \"\\n\" \"Tom:\", ";
  check_refused("/set stop \"Tom\n", "", expected + "found '\"Tom'");
  check_refused("/set stop Tom\\x\n", "", expected + "found 'Tom\\x'");
  check_refused("/set stop \"Tom\" 5\n", "", expected + "found '\"Tom\" 5'");
  check_refused("/set stop Tom: Ben:\n", "", expected + "found 'Tom: Ben:'");
  for (const std::string value : {"a\"\"b", "\"a\"\"b\"", "a\"b"}) {  // one text or two
    check_refused("/set stop " + value + "\n", "", expected + "found '" + value + "'");
  }
  check_refused("/set stop \"\"\n", "", "stop: expected a text, found ''");
  CHECK(talk({"-m", alphabet_model()}, "/help stop\n").err.find("\"\\n\" \"Tom:\"") !=
        std::string::npos);
}

TEST_CASE("/set replaces all values of an option") {
  const std::string list =
      talk({"-m", alphabet_model()}, "/set logit_bias 1=1\n/set logit_bias 5=1 6=-2\n/set\n").err;
  CHECK(list.find("* logit_bias                        5=1 6=-2\n") != std::string::npos);
}

TEST_CASE("/set changes an option") {
  CHECK(letters("ab\n/set max_new_tokens 1\n\n/set stop h\n/set max-new-tokens 9\n\n") ==
        "cde\nf\ng\n");
  const std::string wild = answers({"-n", "9", "-s", "5"}, "Once upon\n");
  CHECK(answers({"-n", "9"}, "/set seed 5\nOnce upon\n") == wild);
  CHECK(answers({"-n", "9"}, "/set seed=5\nOnce upon\n") == wild);
  CHECK(letters("/set stop=d\nab\n/set stop==\n/set max_new_tokens= 1\n\n") == "c\ne\n");
  check_refused("/set top_k=x\n", "",
                "top_k: expected a whole number from 0 to 1000000000, found 'x'");
  CHECK(answers({"-n", "9", "-s", "5"}, "/set greedy\nOnce upon\n") != wild);
}

TEST_CASE("/set max_new_tokens replaces the max_length of --hf-defaults") {
  const TemporaryDirectory model;
  write_alphabet_model(model.path(), 16);
  model.write("generation_config.json", R"({"max_length": 6})");
  const auto written = [&](const std::string& lines) {
    return answers({"-m", model.path().string(), "--hf-defaults"}, lines);
  };
  CHECK(written("ab\n") == "cdefgh\n");
  CHECK(written("/set max_new_tokens 1\nab\n/again\n") == "c\nc\n");
  CHECK(written("/unset max_new_tokens\nab\n").size() > 7);
}

TEST_CASE("an invalid line is refused, and ends a talk that is read from a file") {
  check_refused("/json\n", "",
                "no command '/json': /help lists them; to begin a text with a slash, type two");
  check_refused("/again\n", "", "there is no answer to write again");
  check_refused("/save\n", "", "expected /save FILE");
  check_refused("/reset all\n", "", "expected /reset");
  check_refused(
      "/load " + (place().path() / "none").string() + "\n", "",
      "cannot open " + (place().path() / "none").string() + ": No such file or directory");
  for (const std::string command : {"/set", "/unset", "/help"}) {
    check_refused(command + " top-q\n", "", "no option 'top-q': /set lists the options");
  }
  check_refused("/set top-k x\n", "",
                "top_k: expected a whole number from 0 to 1000000000, found 'x'");
}

TEST_CASE("/set changes what happens when the context is full") {
  CHECK(letters("/set keep 1\n/set overflow stop\nab\n") == "cde\n");
  check_refused("/set keep x\n", "",
                "keep: expected a whole number from 0 to 1000000000, found 'x'");
}

TEST_CASE("/set refuses what the model does not allow") {
  check_refused("/set suppress_tokens 257\n", "",
                "suppress_tokens has the token 257, which is outside the vocabulary of 257: give ids "
                "from 0 to 256");
}

TEST_CASE("/help OPTION prints the help of an option, and /exit ends the talk as /quit does") {
  const Outcome outcome = talk({"-m", alphabet_model()}, "/help top_k\n/exit\nab\n");
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "");
  CHECK(outcome.err ==
        "  top_k N                   Draw from the N most likely tokens; 0: from all\n" +
            std::string(28, ' ') + "(default 40)\n");
}

TEST_CASE("/help COMMAND prints what the command does") {
  for (const std::string name : {"save", "/save"}) {
    CHECK(talk({"-m", alphabet_model()}, "/help " + name + "\n").err ==
          "  /save FILE           save the session to FILE, for /load and --state alone\n");
  }
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
        "gpt2: line 2: the line has 8 tokens, but the model takes at most 7: shorten it\n");
  CHECK(with({"--overflow", "stop"}, "ab\nklmn\n").err ==
        "gpt2: line 2: the context of 8 tokens is full: /reset forgets the text\n");
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
    .environment = {"TERM=xterm", "NO_COLOR=1"}, .terminal = true, .terminal_errors = true};

// All standard streams are the same terminal.
Surroundings whole_terminal(unsigned short columns, const std::string& colour = "NO_COLOR=1") {
  return {.environment = {"TERM=xterm", colour},
          .terminal = true,
          .terminal_errors = true,
          .terminal_output = true,
          .columns = columns};
}

// Types lines one after the other, and returns what the terminal shows from the answer to the last
// one to the next prompt.
std::string shown_after(const Words& lines, const Words& more = {"-n", "3", "--greedy"},
                        unsigned short columns = 80) {
  Words words = {"-i", "-m", alphabet_model()};
  words.insert(words.end(), more.begin(), more.end());
  Command command(words, whole_terminal(columns));
  for (const std::string& line : lines) command.type_after("> ", line + "\r");
  command.await_error("\r\n");  // the echo of the last line
  command.err.erase(0, command.err.find("\r\n") + 2);
  command.await_error("> ");
  return command.err.substr(0, command.err.find("> "));
}

}  // namespace

TEST_CASE("a talk on a terminal begins with the model's name and /help", "[terminal]") {
  Command command({"-i", "-m", alphabet_model()}, kTerminal);
  command.await_error("> ");
  CHECK(command.err.find(alphabet_model() + ": ") != std::string::npos);
  CHECK(command.err.find(" parameters, a context of 1024 tokens.") != std::string::npos);
  CHECK(command.err.find("/help") != std::string::npos);
}

TEST_CASE("on a terminal, the prompt has a colour, unless NO_COLOR is set", "[terminal]") {
  const auto shown = [](const std::string& colour) {
    Command command({"-i", "-m", alphabet_model(), "-n", "3", "--greedy"},
                    whole_terminal(80, colour));
    command.type_after("> ", "ab\r");
    command.await_error("> ");
    return command.err;
  };
  const std::string coloured = shown("X=1");
  CHECK(coloured.find("\x1b[0m") < coloured.find("cde"));
  CHECK(coloured.find("cde") < coloured.find("\x1b[32m"));
  CHECK(shown("NO_COLOR=1").find("\x1b[32m") == std::string::npos);
  CHECK(shown("TERM=dumb").find("cde") != std::string::npos);
}

TEST_CASE("an answer wraps between words at the edge of the terminal", "[terminal]") {
  // The text is: nopqrstuvwxyz, e with an accent, abcdefghijklmnopqrstuvwxyz, ...
  const std::string accent = "\xc3\xa9";
  CHECK(shown_after({"m"}, {"-n", "45", "--greedy"}, 60) ==
        "nopqrstuvwxyz " + accent + "abcdefghijklmnopqrstuvwxyz " + accent + "\r\n");
  CHECK(shown_after({"m"}, {"-n", "45", "--greedy"}, 41) ==
        "nopqrstuvwxyz " + accent + "abcdefghijklmnopqrstuvwxyz\r\n" + accent + "\r\n");
  CHECK(shown_after({"m"}, {"-n", "45", "--greedy"}, 40) ==
        "nopqrstuvwxyz\r\n" + accent + "abcdefghijklmnopqrstuvwxyz " + accent + "\r\n");
  // A pipe gets the text as it is.
  CHECK(letters("m\n", {"-n", "45"}) ==
        "nopqrstuvwxyz " + accent + "abcdefghijklmnopqrstuvwxyz " + accent + "\n");
}

TEST_CASE("/set alone lists the options, and marks those that have changed", "[terminal]") {
  const std::string defaults = talk({"-m", alphabet_model()}, "/set\n").err;
  const auto has = [](const std::string& text, const std::string& line) {
    return text.find(line + "\n") != std::string::npos;
  };
  const std::string gap(28, ' ');
  CHECK(has(defaults, "  temperature                       0.8"));
  CHECK(has(defaults, "  seed                              0"));
  CHECK(has(defaults, "  overflow                          slide"));
  CHECK(has(defaults, "  bad_words                         none"));
  CHECK(defaults.find("\n* t") == std::string::npos);
  const std::string changed =
      talk({"-m", alphabet_model(), "-t", "1", "--top-k", "7"},
           "/set stop \"x y\"\n/set stop z\n/set temperature 1.5\n/set temperature 0.8\n/set\n")
          .err;
  CHECK(has(changed, "* top_k                             7"));
  const std::string greedy = talk({"-m", alphabet_model()}, "/set greedy\n/set\n").err;
  CHECK(has(greedy, "* temperature                       0"));
  CHECK(has(changed, "* stop                              \"z\""));
  CHECK(has(changed, "  temperature                       0.8"));
  CHECK(talk({"-m", alphabet_model()}, "/set top_k 7\n/unset top_k\n/set\n").err == defaults);
  CHECK(talk({"-m", alphabet_model()}, "/set  top_k  7\n/unset  top_k\n/set\n").err == defaults);
}

TEST_CASE("/set can change every option of the table, and /unset takes it back", "[terminal]") {
  const std::vector<std::pair<std::string, std::string>> values = {
      {"temperature", "0.5"},
      {"top_k", "7"},
      {"top_n_sigma", "2"},
      {"top_p", "0.5"},
      {"min_p", "0.25"},
      {"typical_p", "0.5"},
      {"epsilon_cutoff", "0.125"},
      {"eta_cutoff", "0.125"},
      {"seed", "18446744073709551615"},
      {"sequence", "3"},
      {"min_new_tokens", "2"},
      {"min_length", "2"},
      {"forced_eos_token_id", "5"},
      {"exponential_decay_length_penalty", "5,1.05"},
      {"repetition_penalty", "1.1"},
      {"no_repeat_ngram_size", "3"},
      {"presence_penalty", "-0.5"},
      {"frequency_penalty", "0.5"},
      {"suppress_tokens", "1,2"},
      {"begin_suppress_tokens", "3"},
      {"logit_bias", "5=-1.5"},
      {"sequence_bias", "5,6=1.5"},
      {"forced_bos_token_id", "7"},
      {"remove_invalid_values", "true"},
      {"renormalize_logits", "true"},
      {"max_new_tokens", "3"},
      {"ignore_eos", "true"},
      {"overflow", "stop"},
      {"keep", "1"}};
  std::string sets, unsets;
  for (const auto& [name, value] : values) {
    sets += "/set " + name + ' ' + value + '\n';
    unsets += "/unset " + name + '\n';
  }
  const Outcome set = talk({"-m", alphabet_model()}, sets + "/set\n");
  CHECK(set.status == 0);
  for (const auto& [name, value] : values) {
    std::string row = "* " + name;
    row.resize(36, ' ');
    CAPTURE(row, value, set.err);
    CHECK(set.err.find(row + value + '\n') != std::string::npos);
  }
  // The list has no options but these, and stop, bad_words and bad_words_ids.
  CHECK(std::ranges::count(set.err, '\n') == static_cast<long>(values.size()) + 4);
  CHECK(talk({"-m", alphabet_model()}, sets + unsets + "/set\n").err ==
        talk({"-m", alphabet_model()}, "/set\n").err);
  CHECK(letters("/set ignore_eos true\n/set ignore_eos false\n/set ignore_eos\nab\n") == "cde\n");
}

TEST_CASE("/set refuses a number that is too large, and nothing else happens", "[terminal]") {
  const std::string range = "expected a whole number from 0 to 1000000000, found '";
  for (const std::string number : {"1000000001", "4294967297", "99999999999999999999999999"}) {
    for (const std::string name : {"top_k", "max_new_tokens", "keep", "min_length"}) {
      const std::string shown = shown_after({"/set " + name + ' ' + number});
      CHECK(shown == "gpt2: " + name + ": " + range + number + "'\r\n");
    }
  }
  CHECK(shown_after({"/set temperature 1e999"}).starts_with("gpt2: temperature: expected "));
  CHECK(shown_after({"/set seed 18446744073709551616"}).find("from 0 to 18446744073709551615") !=
        std::string::npos);
  CHECK(shown_after({"/set exponential_decay_length_penalty 99999999999,1.05"})
            .starts_with("gpt2: exponential_decay_length_penalty: expected "));
  CHECK(shown_after({"/set max_new_tokens 99999999999", "ab"}) == "cde\r\n");
  // Words that the model cannot write are refused at once, and not with the next line.
  CHECK(shown_after({"/set top_p 2", "/set ignore_eos maybe", "ab"}) == "cde\r\n");
}

TEST_CASE("/undo takes back the last line and its answer", "[terminal]") {
  letters("ab\nxy\n/undo\n/save " + state() + "\n");
  CHECK(saved_tokens() == ids("abcde"));
  CHECK(letters("ab\nk\nt\n/undo\n/undo\n\n") == "cde\nlmn\nuvw\nfgh\n");
  check_refused("/undo\n", "", "there is no line to take back");
  check_refused("ab\n/undo\n/again\n", "cde\n", "there is no answer to write again");
  // The answer before it is the last one then.
  check_refused("ab\nk\n/undo\n/again\n/undo\n/undo\n", "cde\nlmn\ncde\n",
                "there is no line to take back");
  CHECK(letters("ab\nk\n/undo\n/again\nt\n/undo\n\n") == "cde\nlmn\ncde\nuvw\nfgh\n");
  CHECK(shown_after({"ab", "/undo"}) == "gpt2: took back 5 tokens; the text has 0 tokens\r\n");
  // After a slide, only the session before the last line is left.
  const TemporaryDirectory small;
  write_alphabet_model(small.path(), 8);
  const Words in_small = {"-m", small.path().string(), "--greedy", "-n", "3"};
  CHECK(talk(in_small, "ab\nklmn\n/undo\n\n").out == "cde\nopq\nfgh\n");
  CHECK(talk(in_small, "ab\nklmn\n/undo\n/undo\n").err ==
        "gpt2: line 4: there is no line to take back\n");
  // Neither is anything else left when more lines have followed without a slide.
  const TemporaryDirectory larger;
  write_alphabet_model(larger.path(), 16);
  CHECK(talk({"-m", larger.path().string(), "--greedy", "-n", "6"},
             "abcdef\nm\n/set max_new_tokens 1\nz\n/undo\n/undo\n")
            .err == "gpt2: line 6: there is no line to take back\n");
}

TEST_CASE("a mistake in lines that are not typed loses no answer before it") {
  std::filesystem::remove(state());
  const Words saving = {"-m", alphabet_model(), "--greedy", "-n", "3", "--save-state", state()};
  const Outcome outcome = talk(saving, "ab\n/write " + state() + "\n");
  CHECK(outcome.status == 1);
  CHECK(outcome.out == "cde\n");
  CHECK(outcome.err == "gpt2: line 2: " + state() + " is for --save-state: give another file\n");
  std::filesystem::remove(state());
  const std::string same = (place().path() / "." / "state").string();
  const Outcome dotted = talk(saving, "ab\n/write " + same + "\n");
  CHECK(dotted.err.ends_with(" is for --save-state: give another file\n"));
  CHECK(saved_tokens() == ids("abcde"));
}

TEST_CASE("/again that is refused leaves the text as it is") {
  const TemporaryDirectory small;
  write_alphabet_model(small.path(), 8);
  const Outcome outcome =
      talk({"-m", small.path().string(), "--greedy", "-n", "3", "--save-state", state()},
           "ab\nklmn\n/set overflow stop\n/again\n");
  CHECK(outcome.err.starts_with("gpt2: line 4: the context of 8 tokens is full"));
  const std::vector<gpt2::TokenId> tokens = saved_tokens();
  REQUIRE(!tokens.empty());
  CHECK(tokens.back() == 'q');  // of the last answer, opq
}

TEST_CASE("/stats tells the tokens, the speed and the context", "[terminal]") {
  const std::string stats =
      talk({"-m", alphabet_model(), "-n", "3", "--greedy"}, "ab\n\n/stats\n").err;
  CAPTURE(stats);
  CHECK(stats.starts_with("last answer  3 tokens, "));
  CHECK(stats.find(" tokens/s\nall answers  6 tokens, ") != std::string::npos);
  CHECK(stats.ends_with(" tokens/s\ncontext      8 of 1024 tokens used\n"));
}

TEST_CASE("an empty line is refused if there is no text to continue") {
  check_refused("\n", "", "the text is still empty: type its beginning");
  check_refused("ab\n/reset\n\nk\n", "cde\n", "the text is still empty: type its beginning", 3);
}

TEST_CASE("an empty line that cannot begin a text has a hint", "[terminal]") {
  CHECK(shown_after({""}) == "gpt2: the text is still empty: type its beginning\r\n");
  CHECK(shown_after({""}, {"--dialog"}) ==
        "gpt2: the line is empty: type a turn of the dialog\r\n");
}

TEST_CASE("/save says where it saved what, and /load shows the end of the text", "[terminal]") {
  const Words wide = {"-n", "3", "--greedy"};
  CHECK(shown_after({"ab", "/save " + state()}, wide, 200) ==
        "gpt2: saved the session, 5 tokens, to " + state() +
            ": /load and --state continue it; /write FILE writes a readable text\r\n");
  const std::string loaded = "gpt2: loaded 5 tokens from " + state() + ": abcde\r\n";
  CHECK(shown_after({"/load " + state()}) == loaded);
  Command resumed({"-i", "-m", alphabet_model(), "--state", state()}, whole_terminal(80));
  resumed.await_error("> ");
  CHECK(resumed.err.find(loaded) != std::string::npos);
  // "ab" and 240 letters: more than is shown.
  const std::string whole = letters("ab\n/save " + state() + "\n", {"-n", "240"});
  const std::string shown = shown_after({"/load " + state()});
  CHECK(shown.starts_with("gpt2: loaded 242 tokens from " + state() + ": ..."));
  CHECK(shown.ends_with(whole.substr(whole.size() - 31, 30) + "\r\n"));
}

TEST_CASE("/write says where it wrote", "[terminal]") {
  const std::string file = (place().path() / "shown.txt").string();
  CHECK(shown_after({"ab", "/write " + file}) == "gpt2: wrote the text to " + file + "\r\n");
}

TEST_CASE("/again says once that greedy answers are the same", "[terminal]") {
  const std::string note =
      "gpt2: the most likely tokens are the same each time: /set temperature 0.8 draws others\r\n";
  CHECK(shown_after({"ab", "/again"}) == note + "cde\r\n");
  CHECK(shown_after({"ab", "/again", "/again"}) == "cde\r\n");
  CHECK(shown_after({"ab", "/set temperature 1", "/again"}).find(note) == std::string::npos);
}

TEST_CASE("Tab completes the commands and the options of /set", "[terminal]") {
  Command command({"-i", "-m", alphabet_model(), "-n", "3", "--greedy"}, kTerminal);
  command.type_after("> ", "/u\t");
  command.type_after("/un", "d\t\r");  // /undo and /unset
  command.type_after("gpt2: there is no line to take back\r\n> ", "/set rep\t1.5\r");
  command.type_after("> ", "/set\r");
  command.type_after("* repetition_penalty                1.5\r\n", "");
  command.type_after("> ", "/help top_\t");
  command.type_after("top_k top_n_sigma top_p\r\n", "k\r");
  command.type_after("  top_k N ", "");
  command.type_after("> ", "/quit\r");
  CHECK(command.wait() == 0);
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
  command.type_after("\n> ", "quit\r");
  command.type_after("gpt2: the line is left out of the text: /quit ends\r\n> ", "\x04");
  CHECK(command.wait() == 0);
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
      const auto tokens = saved_tokens();
      REQUIRE(tokens.size() >= 5);
      CHECK(std::vector(tokens.begin(), tokens.begin() + 5) ==
            std::vector<gpt2::TokenId>{'a', 'b', 'c', 'd', 'e'});
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
