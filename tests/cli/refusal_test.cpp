// Bad arguments and bad files must lead to one clear line, the right exit status and nothing on
// standard output.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/temporary_directory.h"

namespace gpt2::test::refusal_test {

namespace fs = std::filesystem;

namespace {

// Expects that the command refuses the arguments with this exit status and with a message that
// contains each of `parts`.
void check_refused(const Words& arguments, int status, const Words& parts,
                   const Surroundings& surroundings = {}) {
  const Outcome outcome = run(arguments, surroundings);
  CAPTURE(arguments, outcome.err);
  CHECK(outcome.status == status);
  CHECK(outcome.out == "");
  CHECK(outcome.err.starts_with("gpt2: "));
  CHECK(outcome.err.ends_with("\n"));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(outcome.err.find(part) != std::string::npos);
  }
}

// A model whose files a test can damage.
class DamagedModel {
 public:
  DamagedModel() { write_alphabet_model(directory_.path(), 64); }

  [[nodiscard]] fs::path file(const std::string& name) const { return directory_.path() / name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
  }
  void check_refused(const Words& parts, const std::string& prompt = "x") const {
    refusal_test::check_refused({"-m", directory_.path().string(), prompt}, 1, parts);
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("options whose values are not numbers, or out of range, are refused by name") {
  const std::vector<std::string> whole = {"-1",
                                          "12abc",
                                          "1.5",
                                          "",
                                          " 5",
                                          "+5",
                                          "0x10",
                                          "1e3",
                                          "nan",
                                          "18446744073709551616",
                                          "99999999999999999999999999"};
  const std::vector<std::string> real = {"-1",    "-0.001", "nan", "-nan", "inf", "-inf",
                                         "1e999", "0.5x",   "",    "0,5",  "one"};
  const std::pair<std::string, std::string> reals[] = {
      {"--temperature", ": expected 0 or a number from 1e-06 to 100, found '"},
      {"--top-p", ": expected a number from 0 to 1, found '"},
      {"--min-p", ": expected a number from 0 to 1, found '"},
      {"--typical-p", ": expected a number from 1e-06 to 1, found '"},
      {"--epsilon-cutoff", ": expected a number from 0 to 0.9999, found '"},
      {"--eta-cutoff", ": expected a number from 0 to 0.9999, found '"},
      {"--repetition-penalty", ": expected a number from 1e-06 to 1e+06, found '"}};
  for (const std::string option : {"--seed", "--top-k", "--max-new-tokens", "--threads",
                                   "--no-repeat-ngram-size", "--min-length", "--min-new-tokens"}) {
    for (const std::string& value : whole) {
      check_refused({option, value, "x"}, 2,
                    {option + ": expected ", "a whole number from ", "found '" + value + "'",
                     "gpt2 generate --help"});
    }
  }
  for (const auto& [option, expected] : reals) {
    for (const std::string& value : real) {
      check_refused({option, value, "x"}, 2, {option + expected + value + "'"});
    }
  }
  check_refused({"--top-p", "1.01", "x"}, 2, {"--top-p", "from 0 to 1,", "'1.01'"});
  check_refused({"--threads", "1025", "x"}, 2, {"--threads", "from 0 to 1024", "'1025'"});
  for (const std::string value : {"1e-7", "100.1"}) {
    check_refused({"--temperature", value, "x"}, 2, {"from 1e-06 to 100, found '" + value + "'"});
  }
}

TEST_CASE("options that name tokens, and those that take two numbers, are refused by name") {
  for (const std::string option : {"--suppress-tokens", "--begin-suppress-tokens",
                                   "--forced-bos-token-id", "--forced-eos-token-id"}) {
    for (const std::string ids : {"-1", "x", "1,", ",1", "1,,2", "1;2", "1.5", "2147483648", ""}) {
      check_refused({option, ids, "x"}, 2, {option + ": expected ", "found '" + ids + "'"});
    }
    // The model has 257 tokens.
    check_refused({"-m", alphabet_model(), option, "257", "x"}, 2,
                  {option + " has the token 257", "from 0 to 256"});
  }
  check_refused({"--forced-bos-token-id", "1,2", "x"}, 2,
                {"--forced-bos-token-id: expected a token id, found '1,2'"});
  for (const std::string bias :
       {"1", "1=", "=1", "1=x", "1=nan", "1=inf", "1=100.1", "1=-101", "1=2=3", "1,2=3", ""}) {
    check_refused({"--logit-bias", bias, "x"}, 2, {"--logit-bias: expected ", "'" + bias + "'"});
  }
  for (const std::string bias : {"1,2", "1,2=", "=1", "1,=1", "1=nan", "1=inf", "1=1.1e30", ""}) {
    check_refused({"--sequence-bias", bias, "x"}, 2,
                  {"--sequence-bias: expected ", "'" + bias + "'"});
  }
  for (const std::string option : {"--presence-penalty", "--frequency-penalty"}) {
    for (const std::string value : {"-2.1", "2.1", "nan", "inf", "x", ""}) {
      check_refused({option, value, "x"}, 2,
                    {option + ": expected a number from -2 to 2, found '" + value + "'"});
    }
  }
  for (const std::string decay : {"5", "5,", ",1.5", "-1,1.5", "1.5,1.5", "5,0", "5,-1", "5,nan",
                                  "5,inf", "5,1e7", "5,1.5,2", "x,1.5", ""}) {
    check_refused({"--exponential-decay-length-penalty", decay, "x"}, 2,
                  {"--exponential-decay-length-penalty: expected a number of tokens and a factor "
                   "from 1e-06 to 1e+06 such as 20,1.05, found '" +
                   decay + "'"});
  }
  check_refused({"--bad-words", "", "x"}, 2, {"--bad-words: expected a text, found ''"});
}

TEST_CASE("an option that this model does not allow is refused by name, as invalid arguments are") {
  const DamagedModel model;  // with 64 positions
  const std::string directory = model.file("").string();
  check_refused({"-m", directory, "--logit-bias", "257=1", "x"}, 2,
                {"--logit-bias has the token 257", "from 0 to 256"});
  check_refused({"-m", directory, "--sequence-bias", "1,257=1", "x"}, 2,
                {"--sequence-bias has the token 257", "from 0 to 256"});
  check_refused({"-m", directory, "--overflow", "slide", "--keep", "63", "x"}, 2,
                {"--keep: expected a whole number from 0 to 62, because the model has 64 "
                 "positions, found 63; see"});
  const Words slide = {"-m", directory, "--overflow", "slide", "--keep", "62", "-n", "1", "x"};
  CHECK(run(slide).status == 0);
  const TemporaryDirectory place;
  place.write("in", "");
  const Surroundings here = {.directory = place.path()};
  check_refused({"batch", "in", "-o", "out", "-m", directory, "--suppress-tokens", "257"}, 2,
                {"--suppress-tokens has the token 257", "from 0 to 256"}, here);
  // Options in the model's own config are not arguments, so they are not checked.
  model.write("generation_config.json", R"({"do_sample": true, "suppress_tokens": [257]})");
  check_refused({"-m", directory, "--hf-defaults", "x"}, 1, {"suppress_tokens", "257"});
}

TEST_CASE("a bad word that the vocabulary cannot spell is refused") {
  const DamagedModel model;
  std::ifstream file(model.file("vocab.json"));
  std::string vocabulary((std::istreambuf_iterator<char>(file)), {});
  model.write("vocab.json", vocabulary.erase(vocabulary.find("\"x\":"), 8));
  const std::string directory = model.file("").string();
  check_refused({"-m", directory, "--bad-words", "x", "a"}, 2, {"the bad word 'x'"});
  CHECK(run({"-m", directory, "--bad-words", "y", "a"}).status == 0);
}

TEST_CASE("options that contradict each other are refused with both names") {
  check_refused({"--greedy", "--temperature", "0.5", "x"}, 2,
                {"--temperature cannot be combined with --greedy: give only one of them"});
  for (const Words& option : std::vector<Words>{{"--min-length", "5"},
                                                {"--min-new-tokens", "5"},
                                                {"--exponential-decay-length-penalty", "5,2"}}) {
    check_refused(
        {"--ignore-eos", option[0], option[1], "x"}, 2,
        {option[0], " cannot be combined with ", "--ignore-eos", "give only one of them"});
  }
  check_refused({"--min-new-tokens", "11", "--max-new-tokens", "10", "x"}, 2,
                {"--min-new-tokens: 11 is more than --max-new-tokens, which is 10; see"});
  check_refused({"--min-new-tokens", "257", "x"}, 2,
                {"--min-new-tokens: 257 is more than --max-new-tokens, which is 256; see"});
  check_refused({"--tokens", "--bad-words", "x", "3"}, 2,
                {"--bad-words", "--tokens", "give only one of them"});
}

TEST_CASE("arguments that make no sense are refused by name") {
  const std::pair<Words, Words> cases[] = {
      {{"--tmperature", "1", "x"}, {"unknown option '--tmperature'", "gpt2 generate --help"}},
      {{"x", "--num_beams", "2"}, {"unknown option '--num_beams'"}},
      {{"-x"}, {"unknown option '-x'", "after --"}},
      {{"-x y"}, {"unknown option '-x y'", "after --"}},
      {{"-x=1", "a"}, {"unknown option '-x=1'"}},
      {{"-ngl", "x"}, {"--max-new-tokens", "found 'gl'"}},
      {{"-hf", "gpt2", "x"}, {"unknown option '-hf'"}},
      {{"-p", "a", "--foo", "x"}, {"unknown option '--foo'"}},
      {{"info", "-x"}, {"unknown option '-x'", "gpt2 info --help"}},
      {{"tokenize", "--greedy"}, {"unknown option '--greedy'"}},
      {{"--two\nlines\x1b[31m", "x"}, {"unknown option '--two lines [31m'"}},
      {{"quantize", "a", "b", "c"}, {"unexpected argument 'c'"}},
      {{"--", "-x", "--greedy"}, {"unexpected argument '--greedy'"}},
      {{"--", "x", "--"}, {"unexpected argument '--'"}},
      {{"Once", "upon"}, {"unexpected argument 'upon'", "quotes"}},
      {{"info", "x"}, {"unexpected argument 'x'", "gpt2 info --help"}},
      {{"--greedy=no", "x"}, {"--greedy takes no value"}},
      {{"--seed", "1", "--seed", "2", "x"}, {"--seed may be given only once"}},
      {{"x", "--seed"}, {"--seed expects a value"}},
      {{"--stop=", "x"}, {"--stop: nothing follows the '='"}},
      {{"--seed", "Random", "x"}, {"--seed: expected ", "found 'Random'"}},
      {{"--stop", "", "x"}, {"--stop: expected a text, found ''"}},
      {{"quantize", "--dtype", "f16", "x", "y"}, {"--dtype: expected int8 or int4, found 'f16'"}},
      {{"--dtype", "f64", "x"}, {"--dtype: expected f32, f16, bf16, int8 or int4, found 'f64'"}},
      {{"quantize", "m", "o", "--text", ""}, {"--text: expected a file, found ''"}},
      {{"score", ""}, {"FILE: expected a file, found ''"}},
      {{"quantize", "x"}, {"OUT is required"}}};
  for (const auto& [arguments, parts] : cases) check_refused(arguments, 2, parts);
  for (const std::string command : {"generate", "batch", "score", "embed", "bench"}) {
    check_refused({command, "--kv", "bf16"}, 2, {"--kv: expected auto, f32 or f16, found 'bf16'"});
  }
}

TEST_CASE("a prompt that is given in two ways is refused with both names") {
  const auto check_both = [](const Words& words, const std::string& one, const std::string& other) {
    check_refused(words, 2, {one, other, " cannot be combined with ", ": give only one of them"});
  };
  check_both({"-p", "a", "-f", "b"}, "--prompt", "--file");
  check_both({"-f", "b", "-p", "a"}, "--prompt", "--file");
  check_both({"-p", "a", "b"}, "--prompt", "PROMPT");
  check_both({"-f", "a", "-"}, "--file", "PROMPT");
  check_both({"tokenize", "-f", "a", "b"}, "--file", "TEXT");
  check_refused({"-p", "a", "-p", "b"}, 2, {"--prompt may be given only once"});
}

TEST_CASE("a file of a prompt that cannot be read is refused by name") {
  const std::string model = alphabet_model();
  check_refused({"-m", model, "-f", "/no/such"}, 1,
                {"cannot read /no/such: No such file or directory"});
  check_refused({"-m", model, "-f", "/"}, 1, {"cannot read /: Is a directory"});
  check_refused({"score", "-m", model, "/"}, 1, {"gpt2: cannot read /: Is a directory"});
  check_refused({"-m", model, "-f", ""}, 2, {"--file: expected a file, found ''"});
  check_refused({"tokenize", "-m", model, "-f", "/no/such"}, 1, {"cannot read /no/such: No such"});
}

TEST_CASE("options that JSON would ignore are refused") {
  for (const std::string option : {"--no-echo", "--no-newline"}) {
    check_refused({"--json", option, "a"}, 2,
                  {option + " cannot be combined with --json: give only one of them; see"});
    check_refused({option, "--format=json", "a"}, 2,
                  {option + " cannot be combined with --format json: give only one of them; see"});
  }
  check_refused({"--json", "--format", "json", "a"}, 2,
                {"--json", " cannot be combined with ", "--format", ": give only one of them"});
  for (const std::string name : {"xml", "JSON", ""}) {
    check_refused({"--format", name, "a"}, 2,
                  {"--format: expected text or json, found '" + name + "'; see"});
  }
}

TEST_CASE("log-probabilities without JSON, or more than there are tokens, are refused") {
  check_refused({"--logprobs", "3", "a"}, 2, {"gpt2: --logprobs needs --json", "; see"});
  check_refused({"--logprobs", "3", "--format", "text", "a"}, 2, {"--logprobs needs --json"});
  for (const std::string count : {"-1", "x", "1.5", ""}) {
    check_refused(
        {"--json", "--logprobs", count, "a"}, 2,
        {"--logprobs: expected a whole number from 0 to 1000000000, found '" + count + "'; see"});
  }
  check_refused({"-m", alphabet_model(), "--json", "--logprobs", "258", "a"}, 2,
                {"--logprobs: expected a whole number from 0 to 257, the size of the vocabulary, "
                 "found 258; see"});
}

TEST_CASE("messages about a short option name the long one") {
  check_refused({"-n", "x", "a"}, 2, {"gpt2: --max-new-tokens: expected a whole number", "'x'"});
  check_refused({"-t=x", "a"}, 2, {"gpt2: --threads: expected a whole number", "'x'"});
  check_refused({"-s", "x", "a"}, 2, {"gpt2: --seed: expected", "'x'"});
  check_refused({"a", "-n"}, 2, {"--max-new-tokens expects a value: --max-new-tokens N"});
  check_refused({"-n=", "a"}, 2, {"--max-new-tokens: nothing follows the '='; see"});
  check_refused({"-n", "1", "--max-new-tokens", "2", "a"}, 2,
                {"--max-new-tokens may be given only once"});
}

TEST_CASE("bench refuses arguments that it would otherwise ignore") {
  check_refused({"bench", "-m", "x", "--size", "124M"}, 2,
                {"--size cannot be combined with --model: give only one of them"});
  check_refused({"bench", "--dtype", "f32", "--dtype", "f64"}, 2, {"--dtype", "'f64'"});
  check_refused({"bench", "--threads", "x"}, 2, {"--threads: expected a whole number from 0"});
  check_refused({"bench", "--size", "125M"}, 2,
                {"--size: expected 124M, 355M, 774M or 1558M, found '125M'; see"});
}

TEST_CASE("a missing model is refused, and info lists the places where it was looked for") {
  const TemporaryDirectory place;
  const std::string home = place.path().string();
  check_refused({"-m", "no-such-model", "x"}, 1,
                {"no model 'no-such-model'", "models", "/own", "$GPT2_MODELS",
                 fs::path(".cache/huggingface/hub").make_preferred().string()},
                {.directory = home, .environment = {"HOME=" + home, "GPT2_MODELS=/own"}});
  check_refused({"-m", "/no/such/directory", "x"}, 1,
                {"gpt2: /no/such/directory: no such file or directory; expected a model's "
                 "directory or a file of weights\n"});
  check_refused({"-m", "no-such-model", "x"}, 1, {"$GPT2_MODELS"});
  check_refused({"-m", "", "x"}, 2, {"--model: expected a directory"});
  check_refused({"info", "gpt2"}, 2, {"unexpected argument 'gpt2'"});
  check_refused({"tokenize", "-m", "no-such-model", "x"}, 1, {"no-such-model"});
}

TEST_CASE("a directory or a file that is not a model is refused with what is expected") {
  const TemporaryDirectory directory;
  const std::string prompt = directory.write("prompt.txt", "Once").string();
  for (const std::string& path : {directory.path().string(), prompt}) {
    check_refused({"-m", path, "x"}, 1,
                  {path + ": no config.json; expected it beside model.safetensors or "});
  }
}

TEST_CASE("a token for which the model has no row is named by every command") {
  const fs::path folder = fs::path(GPT2_TEST_DATA) / "oracle/loading/added_tokens_not_resized";
  for (const std::string command : {"generate", "inspect"}) {
    check_refused({command, "-m", folder.string(), "hi <|user|>"}, 1,
                  {"258", "259", "'<|user|>'", "added_tokens.json"});
  }
}

TEST_CASE("a surprise in the weights is one line on standard error") {
  const fs::path folder = fs::path(GPT2_TEST_DATA) / "oracle/loading";
  for (const char* name : {"qa_outputs", "tied_but_different"}) {
    const Outcome outcome = run({"-m", (folder / name).string(), "--tokens", "-n", "1", "1 2 3"});
    CHECK(outcome.status == 0);
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
    CHECK(outcome.err.starts_with("gpt2: "));
  }
}

TEST_CASE("weights that are cut short, missing or a git-lfs pointer are refused") {
  const DamagedModel model;
  const auto bytes = fs::file_size(model.file("model.safetensors"));
  for (const auto kept : {std::uintmax_t{0}, std::uintmax_t{7}, std::uintmax_t{8},
                          std::uintmax_t{100}, bytes / 2, bytes - 1}) {
    fs::resize_file(model.file("model.safetensors"), kept);
    model.check_refused({"model.safetensors"});
  }
  model.write("model.safetensors",
              "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 9\n");
  model.check_refused({"model.safetensors", "git-lfs"});
  fs::remove(model.file("model.safetensors"));
  model.check_refused({"weights", "model.safetensors"});
}

TEST_CASE("a config that is wrong, or of another model, is refused") {
  const DamagedModel model;
  model.write("config.json", "{\"n_embd\": ");
  model.check_refused({"config.json"});
  model.write("config.json", "[]");
  model.check_refused({"config.json"});
  model.write("config.json", R"({"vocab_size": 257, "n_embd": 64, "n_head": 5})");
  model.check_refused({"config.json", "n_head", "64", "5"});
  model.write("config.json", R"({"vocab_size": 257, "n_positions": 64, "n_embd": 128,
                                 "n_layer": 1, "n_head": 1, "n_inner": 64})");
  model.check_refused({"wte.weight", "64", "128"});
  model.write("config.json", R"({"model_type": "llama"})");
  model.check_refused({"config.json", "llama"});
  model.write("config.json", R"({"activation_function": "swiglu"})");
  model.check_refused({"config.json", "swiglu"});
  fs::remove(model.file("config.json"));
  model.check_refused({"config.json"});
}

TEST_CASE("a tokenizer that is missing or damaged is refused") {
  const DamagedModel model;
  model.write("merges.txt", "#version: 0.2\na b c\n");
  model.check_refused({"merges.txt"});
  model.write("merges.txt", "#version: 0.2\n");
  model.write("vocab.json", R"({"a": )");
  model.check_refused({"vocab.json"});
  fs::remove(model.file("vocab.json"));
  model.check_refused({"tokenizer"});
}

TEST_CASE("a token id that the model has no embedding for is refused") {
  const DamagedModel model;
  std::ifstream file(model.file("vocab.json"));
  std::string vocabulary((std::istreambuf_iterator<char>(file)), {});
  model.write("vocab.json",
              "{\"x\": 257, " + vocabulary.erase(vocabulary.find("\"x\":"), 8).substr(1));
  model.check_refused({"257"});
}

TEST_CASE("a prompt longer than the context is refused") {
  const DamagedModel model;
  model.check_refused(
      {"the prompt has 65 tokens, but the model takes at most 64: shorten it, or give "
       "--truncate to leave out its beginning\n"},
      std::string(65, 'a'));
}

TEST_CASE("invalid token ids are refused") {
  const DamagedModel model;
  const std::string directory = model.file("").string();
  for (const std::string id : {"257", "-1", "12abc", "99999999999", "1.5"}) {
    check_refused({"tokenize", "--decode", "-m", directory, "3 " + id}, 1,
                  {"token id 2", "from 0 to 256", "'" + id + "'"});
    check_refused({"--tokens", "-m", directory, "3 " + id}, 1,
                  {"token id 2", "from 0 to 256", "'" + id + "'"});
  }
  check_refused({"--tokens", "-m", directory, "3", "--stop", "x"}, 2, {"--tokens", "--stop"});
}

}  // namespace gpt2::test::refusal_test
