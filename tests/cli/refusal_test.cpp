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

// A model whose files a test can damage.
class DamagedModel {
 public:
  DamagedModel() { write_alphabet_model(directory_.path(), 64); }

  [[nodiscard]] fs::path file(const std::string& name) const { return directory_.path() / name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
  }
  void check_refused(const Words& parts, const std::string& prompt = "x") const {
    test::check_refused({"-m", directory_.path().string(), prompt}, 1, parts);
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace

// sampling_fields_test tries the ends of every option's range. These are texts that are no values.
TEST_CASE("a value of another form than its option's is refused by name") {
  const Words whole = {"-1", "12abc", "1.5", "", " 5", "+5", "0x10", "nan", "18446744073709551616"};
  const Words real = {"-0.001", "nan", "-inf", "1e999", "0.5x", "", "0,5", "one"};
  const Words ids = {"-1", "x", "1,", ",1", "1,,2", "1;2", "1.5", "2147483648", ""};
  const Words bias = {"1", "1=", "=1", "1=x", "1=nan", "1=inf", "1=101", "1=2=3", "1,2=3", ""};
  const Words sequence = {"1,2", "1,2=", "=1", "1,=1", "1=nan", "1=inf", ""};
  const Words decay = {"5", "5,", ",1.5", "-1,1.5", "1.5,1.5", "5,0", "5,nan", "5,1.5,2", ""};
  for (const auto& [option, values] :
       std::vector<std::pair<std::string, Words>>{{"--seed", {"1.5", "x", "", "1e99"}},
                                                  {"--max-new-tokens", whole},
                                                  {"--threads", whole},
                                                  {"--top-k", {"-1", "1.5"}},
                                                  {"--temperature", real},
                                                  {"--top-p", {"-0.1", "1.01"}},
                                                  {"--suppress-tokens", ids},
                                                  {"--forced-bos-token-id", {"1,2", "x"}},
                                                  {"--logit-bias", bias},
                                                  {"--sequence-bias", sequence},
                                                  {"--exponential-decay-length-penalty", decay},
                                                  {"--bad-words", {""}}}) {
    for (const std::string& value : values) {
      check_refused({option, value, "x"}, 2, {option + ": expected ", "found '" + value + "'"});
    }
  }
  check_refused({"--temperature", "100.1", "x"}, 2, {"0 or a number from 1e-06 to 100"});
  check_refused({"--threads", "1025", "x"}, 2, {"--threads", "from 0 to 1024", "--help"});
}

TEST_CASE("an option that this model does not allow is refused by name, as invalid arguments are") {
  const DamagedModel model;  // with 64 positions
  const std::string directory = model.file("").string();
  for (const auto& [option, value] : {std::pair{"--logit-bias", "257=1"},
                                      {"--sequence-bias", "1,257=1"},
                                      {"--suppress-tokens", "257"},
                                      {"--forced-eos-token-id", "257"}}) {
    check_refused({"-m", directory, option, value, "x"}, 2, {option, "257", "from 0 to 256"});
  }
  check_refused({"-m", directory, "--json", "--logprobs", "258", "x"}, 2,
                {"--logprobs", "0 to 100", "258"});
  check_refused({"-m", directory, "--overflow", "slide", "--keep", "63", "x"}, 2,
                {"--keep", "0 to 62", "63"});
  const Words slide = {"-m", directory, "--overflow", "slide", "--keep", "62", "-n", "1", "x"};
  CHECK(run(slide).status == 0);
  const TemporaryDirectory place;
  place.write("in", "");
  const Surroundings here = {.directory = place.path()};
  check_refused({"batch", "in", "-o", "out", "-m", directory, "--suppress-tokens", "257"}, 2,
                {"--suppress-tokens", "257", "from 0 to 256"}, here);
  // Options in the model's own config are not arguments, so they are not checked.
  model.write("generation_config.json", R"({"do_sample": true, "suppress_tokens": [257]})");
  check_refused({"-m", directory, "--hf-defaults", "x"}, 1, {"suppress_tokens", "257"});
}

TEST_CASE("a bad word that the vocabulary cannot spell is refused") {
  const DamagedModel model;
  std::string vocabulary = read_bytes(model.file("vocab.json"));
  model.write("vocab.json", vocabulary.erase(vocabulary.find("\"x\":"), 8));
  const std::string directory = model.file("").string();
  check_refused({"-m", directory, "--bad-words", "x", "a"}, 2,
                {"--bad-words: ", "no tokens for 'x'"});
  CHECK(run({"-m", directory, "--bad-words", "y", "a"}).status == 0);
}

TEST_CASE("arguments that make no sense are refused by name") {
  const std::string both = "cannot be combined with";
  const std::pair<Words, Words> cases[] = {
      {{"--tmperature", "1", "x"}, {"'--tmperature'", "gpt2 generate --help"}},
      {{"-x y"}, {"'-x y'", "after --"}},
      {{"-x=1", "a"}, {"'-x=1'"}},
      {{"-ngl", "x"}, {"--max-new-tokens", "'gl'"}},
      {{"-p", "a", "--foo", "x"}, {"'--foo'"}},
      {{"info", "-x"}, {"'-x'", "gpt2 info --help"}},
      {{"tokenize", "--greedy"}, {"'--greedy'"}},
      {{"--two\nlines\x1b[31m", "x"}, {"'--two lines [31m'"}},
      {{"quantize", "a", "b", "c"}, {"'c'"}},
      {{"--", "-x", "--greedy"}, {"'--greedy'"}},
      {{"--", "x", "--"}, {"'--'"}},
      {{"Once", "upon"}, {"'upon'", "quotes"}},
      {{"info", "gpt2"}, {"'gpt2'", "gpt2 info --help"}},
      {{"--greedy=no", "x"}, {"--greedy takes no value"}},
      {{"--seed", "1", "--seed", "2", "x"}, {"--seed may be given only once"}},
      {{"-n", "1", "--max-new-tokens", "2", "a"}, {"--max-new-tokens may be given only once"}},
      {{"x", "--seed"}, {"--seed expects a value"}},
      {{"a", "-n"}, {"--max-new-tokens expects a value: --max-new-tokens N"}},
      {{"--stop=", "x"}, {"--stop", "'='"}},
      {{"-n=", "a"}, {"--max-new-tokens", "'='"}},
      {{"-t=x", "a"}, {"--threads", "'x'"}},
      {{"--seed", "Random", "x"}, {"--seed: expected ", "'Random'"}},
      {{"--stop", "", "x"}, {"--stop: expected a text, found ''"}},
      {{"quantize", "--dtype", "f16", "x", "y"}, {"--dtype: expected int8 or int4, found 'f16'"}},
      {{"--dtype", "f64", "x"}, {"--dtype", "f32, f16, bf16, int8 or int4", "'f64'"}},
      {{"--kv", "bf16"}, {"--kv: expected auto, f32 or f16, found 'bf16'"}},
      {{"quantize", "m", "o", "--text", ""}, {"--text: expected a file, found ''"}},
      {{"--model", "", "x"}, {"--model: expected a directory"}},
      {{"--base", "", "x"}, {"--base: expected a directory"}},
      {{"--tokenizer", "", "x"}, {"--tokenizer: expected a directory"}},
      {{"score", ""}, {"FILE: expected a file, found ''"}},
      {{"-f", ""}, {"--file: expected a file, found ''"}},
      {{"-m", "", "x"}, {"--model: expected a directory"}},
      {{"quantize", "x"}, {"OUT is required"}},
      {{"bench", "--size", "125M"}, {"--size: expected 124M, 355M, 774M or 1558M", "'125M'"}},
      {{"bench", "-m", ""}, {"--model: expected a directory"}},
      {{"--json", "--logprobs", "x", "a"}, {"--logprobs: expected a whole number", "'x'"}},
      {{"--logprobs", "3", "a"}, {"--logprobs requires --json"}},
      {{"--keep", "2", "a"}, {"--keep requires --overflow"}},
      {{"--dialog", "a"}, {"--dialog requires --interactive"}},
      {{"--samples", "0", "a"}, {"--samples: expected a whole number from 1 to 1048576"}},
      {{"--overflow", "wrap", "a"}, {"--overflow: expected stop or slide, found 'wrap'"}},
      // Options that contradict each other are refused with both names.
      {{"--greedy", "--temperature", "0.5", "x"}, {"--temperature", both, "--greedy"}},
      {{"--ignore-eos", "--min-length", "5", "x"}, {"--min-length", both, "--ignore-eos"}},
      {{"--ignore-eos", "--min-new-tokens", "5", "x"}, {"--min-new-tokens", both, "--ignore-eos"}},
      {{"--tokens", "--bad-words", "x", "3"}, {"--bad-words", both, "--tokens"}},
      {{"--tokens", "3", "--stop", "x"}, {"--stop", both, "--tokens"}},
      {{"-p", "a", "-f", "b"}, {"--prompt", both, "--file"}},
      {{"-p", "a", "b"}, {"--prompt", both, "PROMPT"}},
      {{"-f", "a", "-"}, {"--file", both, "PROMPT"}},
      {{"tokenize", "-f", "a", "b"}, {"--file", both, "TEXT"}},
      {{"--json", "--no-echo", "a"}, {"--no-echo", both, "--json"}},
      {{"bench", "-m", "x", "--size", "124M"}, {"--size", both, "--model"}},
      {{"--samples", "2", "--no-newline", "a"}, {"--no-newline", both, "--samples"}},
      {{"--save-state", "s", "--samples", "2", "a"}, {"--samples: a session has one text"}},
      {{"--save-state", "", "a"}, {"--save-state: expected a file, found ''"}},
      {{"-i", "--json"}, {"--json", both, "--interactive"}},
      {{"-i", "--tokens"}, {"--tokens", both, "--interactive"}},
      {{"-i", "--no-echo"}, {"--no-echo", both, "--interactive"}},
      {{"-i", "--truncate"}, {"--truncate", both, "--interactive"}},
      {{"-i", "--num-beams", "2"}, {"--num-beams: a session has one text"}}};
  for (const auto& [arguments, facts] : cases) check_refused(arguments, 2, facts);
}

TEST_CASE("a file of a prompt that cannot be read is refused by name") {
  for (const Words& command : {Words{"-f"}, {"tokenize", "-f"}, {"score"}}) {
    for (const auto& [file, reason] :
         {std::pair{"/no/such", "No such file or directory"}, {"/", "Is a directory"}}) {
      check_refused(joined_words(command, {file, "-m", alphabet_model()}), 1, {file, reason});
    }
  }
}

TEST_CASE("a missing model is refused, and info lists the places where it was looked for") {
  const TemporaryDirectory place;
  const std::string home = place.path().string();
  check_refused(
      {"-m", "no-such-model", "x"}, 1,
      {"no model 'no-such-model': fetch it with 'gpt2 download no-such-model'", "models", "/own",
       "$GPT2_MODELS", fs::path(".cache/huggingface/hub").make_preferred().string()},
      {.directory = home, .environment = {"HOME=" + home, "GPT2_MODELS=/own"}});
  check_refused({"-m", "/no/such/directory", "x"}, 1,
                {"/no/such/directory", "a model's directory or a file of weights"});
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
  std::string vocabulary = read_bytes(model.file("vocab.json"));
  model.write("vocab.json",
              "{\"x\": 257, " + vocabulary.erase(vocabulary.find("\"x\":"), 8).substr(1));
  model.check_refused({"257"});
}

TEST_CASE("a prompt longer than the context is refused") {
  const DamagedModel model;
  model.check_refused({"65 tokens", "at most 64", "--truncate"}, std::string(65, 'a'));
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
}

}  // namespace gpt2::test::refusal_test
