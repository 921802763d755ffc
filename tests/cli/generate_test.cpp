// Runs gpt2 generate as a process, on a model whose most probable text is known.
#include <csignal>

#include "support/alphabet_text.h"
#include "support/test.h"

namespace gpt2::test::generate_test {

namespace {

const std::string kLetters = "abcdefghijklmnopqrstuvwxyz";
const std::string kRound = kLetters + " \u00e9";

}  // namespace

TEST_CASE("the prompt and its continuation go to standard output, with nothing around them") {
  CHECK(text({"x", "--max-new-tokens", "5"}) == "xyz \u00e9");
  CHECK(run({"generate", "-m", alphabet_model(), "x", "--max-new-tokens", "2"}).out == "xyz\n");
  CHECK(text({"--no-echo", "--max-new-tokens", "2", "a"}) == "bc");
  CHECK(text({"--max-new-tokens", "0", "abc"}) == "abc");
}

TEST_CASE("a text ends in a newline, unless --no-newline asks for the exact text") {
  const auto ended = [](const Words& arguments, const Surroundings& surroundings = {}) {
    return run(joined_words({"-m", alphabet_model(), "--greedy"}, arguments), surroundings).out;
  };
  CHECK(ended({"a", "-n", "2"}) == "abc\n");
  CHECK(ended({"a", "-n", "2", "--no-newline"}) == "abc");
  CHECK(ended({"a\n", "-n", "0"}) == "a\n");
  CHECK(ended({"-n", "1"}, {.input = "\n\n"}) == "\na\n");
  CHECK(ended({"a", "-n", "0", "--no-echo"}) == "\n");  // an empty line
  CHECK(ended({"a", "-n", "0", "--no-echo", "--no-newline"}) == "");
  CHECK(ended({"97", "--tokens", "-n", "1"}) == "97 98\n");
}

TEST_CASE("on a terminal, a text without a prompt begins at once and reads no input",
          "[terminal]") {
  CHECK(text({"--max-new-tokens", "3"}, {.terminal = true}) == "abc");
}

TEST_CASE("if a prompt is read from a terminal, a message says so and how to end it",
          "[terminal]") {
  const Surroundings typed = {.input = "hello f\n\x04", .terminal = true};  // Ctrl-D
  const Outcome outcome = generate({"--max-new-tokens", "1", "-"}, typed);
  CHECK(outcome.out == "hello fg");
  CHECK(outcome.err == "gpt2: waiting for a text on standard input; Ctrl-D ends it\n");
}

TEST_CASE("the name of a command is a prompt unless it is the first argument") {
  CHECK(generate({"info", "--max-new-tokens", "1"}).out == "infop");
  CHECK(run({"generate", "tokenize", "-m", alphabet_model(), "--max-new-tokens", "1"}).out ==
        "tokenizef\n");
  CHECK(text({"--max-new-tokens", "1", "--", "--help"}) == "--helpq");
  CHECK(text({"--max-new-tokens", "1", "++"}) == "++a");
}

// On Windows, arguments are UTF-16.
TEST_CASE("a prompt may consist of any bytes", "[posix]") {
  CHECK(text({"\xff\xc3(b", "--max-new-tokens", "1"}) == "\xff\xc3(bc");
}

TEST_CASE("a text of the usual length ends silently, and one that fills the context with a note") {
  CHECK(text({"--greedy", "--no-echo", "z"}).size() == 256);
  const std::string note = "gpt2: the text ends here: the context of 1024 tokens is full\n";
  const Outcome outcome = generate({"--no-echo", "-n", "5000", "--stats", "--greedy", "z"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out.size() == 1024);
  CHECK(outcome.err.starts_with(note));
  CHECK(outcome.err.find("finish      context_full\n") != std::string::npos);
  CHECK(run({"-m", alphabet_model(), "--json", "-n", "5000", "--greedy", "z"}).err == note);
}

TEST_CASE("--tokens reads and writes token ids") {
  CHECK(text({"--tokens", "97 98", "--max-new-tokens", "3"}) == "97 98 99 100 101");
  CHECK(text({"--tokens", "[97, 98]", "--max-new-tokens", "1"}) == "97 98 99");
  CHECK(text({"--tokens", "--max-new-tokens", "2"}, {.input = "97,98\n"}) == "97 98 99 100");
  CHECK(text({"--tokens", "--no-echo", "97", "--max-new-tokens", "3"}) == "98 99 100");
  CHECK(text({"--tokens", "", "--max-new-tokens", "2"}) == "97 98");
}

TEST_CASE("a token without text is skipped, and a message says which bytes have no token") {
  const AlphabetModel model;
  model.remove_token("c");
  const std::string path = model.name();
  CHECK(run({"-m", path, "a", "--max-new-tokens", "4"}).out == "abde\n");
  const Outcome written = run({"-m", path, "cacb", "--max-new-tokens", "1", "--greedy"});
  CHECK(written.status == 0);
  CHECK(written.err.find("no tokens for 2 of the text's 4 bytes") != std::string::npos);
  const Outcome ids = run({"tokenize", "-m", path, "cacb"});
  CHECK(ids.out == "97 98\n");
  CHECK(ids.err == written.err);
  CHECK(run({"tokenize", "-m", path, "abd"}).err == "");
}

TEST_CASE("a model without a tokenizer takes another one, or token ids") {
  const AlphabetModel model;
  const TemporaryDirectory other;
  const std::string path = model.name();
  for (const char* const name : {"merges.txt", "vocab.json"}) {
    std::filesystem::rename(model.path() / name, other.path() / name);
    check_refused({"-m", path, "x"}, 1, {path, "--tokenizer", "--tokens"});
  }
  CHECK(run({"-m", path, "--tokens", "97", "-n", "2"}).out == "97 98 99\n");
  CHECK(run({"-m", path, "--tokenizer", other.path().string(), "a", "-n", "2"}).out == "abc\n");
  // A talk refuses --tokens, so its message does not suggest it.
  check_refused({"-m", path, "-i"}, 1, {path, "no tokenizer", "--tokenizer"});
  CHECK(run({"-m", path, "-i"}).err.find("--tokens") == std::string::npos);
}

TEST_CASE("--stop takes the escapes of a line break, a tab and a backslash") {
  const auto until = [](const std::string& stop) {
    return run({"--stop", stop, "Once upon a time"}).out;
  };
  const std::string line = until("\n");
  CHECK(std::ranges::count(line, '\n') == 1);
  CHECK(until("\\n") == line);
  CHECK(until("\\\\n") != line);
}

// requests_hf_defaults_test has the settings, and what replaces them.
TEST_CASE("--hf-defaults uses the settings in generation_config.json, which options replace") {
  const AlphabetModel model;
  const auto with = [&](const char* json, const Words& arguments) {
    model.write("generation_config.json", json);
    return run(joined_words({"-m", model.name(), "--hf-defaults"}, arguments));
  };
  CHECK(with("{}", {"a"}).out == kRound.substr(0, 21) + "\n");
  CHECK(with("{}", {"a", "--max-new-tokens", "2"}).out == "abc\n");
  const char* const samples = R"({"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 5})";
  CHECK(with(samples, {"a"}).out.starts_with("--- 1 of 2\nabcdef\n--- 2 of 2\na"));
  CHECK(with(samples, {"a", "--num-beams", "1"}).out == "abcdef\n");
  check_refused({"-m", model.name(), "--hf-defaults", "--seed", "3", "x"}, 2,
                {"--seed: ", "--num-beams 1", "the default"});
  CHECK(with(R"({"max_length": 3})", {"abc"}).err.starts_with("gpt2: max_length: "));
  const std::string refusal = with(R"({"penalty_alpha": 0.5})", {"a"}).err;
  CHECK(refusal.find("generation_config.json") != std::string::npos);
  CHECK(refusal.find("penalty_alpha is 0.5") != std::string::npos);
}

TEST_CASE("--seed random draws a seed and prints it, so that the text can be repeated") {
  const Words wild = {"--temperature", "100", "--top-k", "0", "-n", "40", "a", "--seed"};
  const Outcome first = generate(joined_words(wild, {"random"}));
  CHECK(first.status == 0);
  CHECK(first.out != generate(joined_words(wild, {"random"})).out);
  const std::string before = "gpt2: to write this text again, give --seed ";
  REQUIRE(first.err.starts_with(before));
  REQUIRE(first.err.ends_with("\n"));
  const std::string seed = first.err.substr(before.size(), first.err.size() - before.size() - 1);
  CHECK(seed.find_first_not_of("0123456789") == std::string::npos);
  CHECK(text(joined_words(wild, {seed})) == first.out);
  CHECK(text(joined_words(wild, {seed, "-t", "3"})) == first.out);
}

TEST_CASE("--kv chooses the type of keys and values, which shows in the hash of the logits") {
  const auto hash = [](const Words& more) {
    const Words words = {"--stats", "-n", "4", "--no-echo", "Once upon a time"};
    const Outcome outcome = run(joined_words(words, more));
    CHECK(outcome.status == 0);
    return hash_in(outcome.err);
  };
  for (const std::string dtype : {"f32", "int8"}) {
    const std::string usual = hash({"--dtype", dtype});
    CHECK((hash({"--dtype", dtype, "--kv", "f32"}) == usual) == (dtype == "f32"));
    CHECK((hash({"--dtype", dtype, "--kv", "f16"}) == usual) == (dtype == "int8"));
  }
}

TEST_CASE("--stats describes the run on standard error, with the same hash every time") {
  const auto hash = [](const std::string& prompt, const std::string& threads) {
    const Outcome outcome =
        generate({prompt, "--max-new-tokens", "4", "--stats", "--threads", threads});
    CHECK(outcome.out == prompt + "ghij");
    CHECK(outcome.err.find("prompt      3 tokens, ") == 0);
    CHECK(outcome.err.find("\ngeneration  4 tokens, ") != std::string::npos);
    CHECK(outcome.err.find(" GB/s\nfinish      length\n") != std::string::npos);
    return hash_in(outcome.err);
  };
  CHECK(hash("def", "1") == hash("def", "2"));
  CHECK(hash("def", "1").size() == std::string("0123456789abcdef\n").size());
}

TEST_CASE("--draft changes the speed, not the text") {
  const TemporaryDirectory place;
  const std::string copy = (place.path() / "copy").string();
  REQUIRE(run({"quantize", alphabet_model(), copy, "--dtype", "int8"}).status == 0);
  const Words plain = {"def", "--max-new-tokens", "12", "--temperature", "1.2", "--seed", "4"};
  const std::string expected = text(plain);
  const AlphabetModel smaller(12);
  for (const std::string& draft : Words{"off", "prompt", "int8", "int4", copy, smaller.name()}) {
    CHECK(text(joined_words(plain, {"--draft", draft})) == expected);
  }
  check_refused({"-m", alphabet_model(), "def", "--draft", "gpt2-stories"}, 2,
                {"--draft: ", "vocabulary", "257", "4096"});
}

// The command must die of the signal itself, because only then does a shell leave its loop.
TEST_CASE("the text appears while it is written, and Ctrl-C ends it and kills the command") {
  const int signal = GENERATE(from_range(Command::signals()));
  const AlphabetModel model(20'000);
  Command command({"-m", model.name(), "--max-new-tokens", "20000", "a", "--stats"});
  command.read(3);
  command.send(signal);
  CHECK(command.wait() == -signal);
  CHECK(command.out.size() < 20'000);
  CHECK(command.out.substr(0, 3) == "abc");
  CHECK(command.out.ends_with("\n"));
  CHECK(command.err.find("finish      cancelled\n") != std::string::npos);
}

TEST_CASE("a progress message on a terminal is cut to one line and erased afterwards",
          "[terminal]") {
  const TemporaryDirectory directory;
  std::string shown = "loading " + directory.path().string() + "/";
  const std::string name(59 - std::min<std::size_t>(shown.size(), 58), 'x');
  shown += name;
  const auto path = directory.path() / (name + "\u00e9" + std::string(60, 'y'));
  std::filesystem::create_directory(path);
  write_alphabet_model(path);
  Command command({"-m", path.string(), "--max-new-tokens", "0", "a"},
                  {.terminal = true, .terminal_errors = true});
  command.await_error("\r\x1b[K");
  // Byte 60 is inside the accented letter, so the whole letter is left out.
  CHECK(command.err.starts_with(shown + " ...\r\x1b[K"));
}

TEST_CASE("while a long prompt is read, a terminal shows the progress, and Ctrl-C ends it",
          "[terminal]") {
  const AlphabetModel model(20'000);
  Command command({"-m", model.name(), "--stats", std::string(19'000, 'a')},
                  {.terminal = true, .terminal_errors = true});
  command.await_error("reading the prompt ... 3 %");
  command.send(SIGINT);
  command.await_error("finish      cancelled\r\n");
  CHECK(command.wait() == -SIGINT);
  CHECK(command.out == "");  // the prompt alone would look like a text
}

TEST_CASE("a terminal shows how many tokens are written unless it shows the text", "[terminal]") {
  const Words words = {"-m", alphabet_model(), "--top-k", "1", "-n", "9", "a"};
  for (const std::string samples : {"1", "2"}) {
    Words as_json = words;
    as_json.insert(as_json.begin(), {"--json", "--samples", samples});
    Command command(as_json, {.terminal = true, .terminal_errors = true});
    command.await_error(samples == "1" ? "writing ... 9 tokens" : "writing ... 18 tokens");
    command.await_error("\r\x1b[K");
    CHECK(command.wait() == 0);
    CHECK(command.out.ends_with("}\n"));
  }
  for (const bool shows_text : {true, false}) {  // false: a pipe, such as to tee
    Command command(words,
                    {.terminal = true, .terminal_errors = true, .terminal_output = shows_text});
    CHECK(command.wait() == 0);
    CHECK(command.err.find("writing") == std::string::npos);
  }
}

TEST_CASE("if the reader goes away, the command ends without a message") {
  Command command({"-m", alphabet_model(), "--max-new-tokens", "1000", "a"});
  command.read(3);
  command.close_output();
  CHECK(command.wait() != 0);
  CHECK(command.err == "");
}

}  // namespace gpt2::test::generate_test
