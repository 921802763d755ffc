// gpt2 tokenize, gpt2 info and the helps, as a process.
#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/temporary_directory.h"

using namespace gpt2::test;

namespace {

// The directory of an alphabet model: its tokens are the bytes.
std::string model() {
  static const TemporaryDirectory directory;
  static const bool written = (write_alphabet_model(directory.path()), true);
  return written ? directory.path().string() : "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("tokenize turns a text into ids and back") {
  CHECK(run({"tokenize", "-m", model(), "a b"}).out == "97 32 98\n");
  CHECK(run({"tokenize", "-m", model(), ""}).out == "\n");
  CHECK(run({"tokenize", "-m", model(), "<|endoftext|>"}).out == "256\n");
  CHECK(run({"tokenize", "-m", model(), "-"}, {.input = "a\n"}).out == "97 10\n");
  CHECK(run({"tokenize", "-m", model(), "--decode", "97, 32\n98"}).out == "a b");
  CHECK(run({"tokenize", "-m", model(), "--decode"}, {.input = "\n"}).out == "");
}

TEST_CASE("tokenize is lossless on every byte") {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const Outcome ids = run({"tokenize", "-m", model()}, {.input = bytes});
  const Outcome text = run({"tokenize", "-m", model(), "--decode"}, {.input = ids.out});
  CHECK(ids.err + text.err == "");
  CHECK(text.out == bytes);
}

TEST_CASE("info tells what a model is made of") {
  const Outcome outcome = run({"info", "-m", model()});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  for (const std::string& part :
       Words{model(), "model.safetensors", "F32", "n_embd 64", "n_positions 1024", "vocab_size 257",
             "untied lm_head", "gelu_new", "257 tokens", "threads", "scalar"}) {
    CAPTURE(part);
    CHECK(contains(outcome.out, part));
  }
  // wte and lm_head 2 * 257 * 64, wpe 1024 * 64, layer norms 3 * 2 * 64, c_attn 65 * 192, three
  // more linear layers of 65 * 64.
  CHECK(contains(outcome.out, "parameters   123776\n"));
}

TEST_CASE("info tells which instruction set is forced") {
  const Outcome outcome = run({"info", "-m", model()}, {.environment = {"GPT2_ISA=scalar"}});
  CHECK(contains(outcome.out, "isa          scalar"));
  const Outcome unknown = run({"-m", model(), "x"}, {.environment = {"GPT2_ISA=mmx"}});
  CHECK(unknown.status == 1);
  CHECK(contains(unknown.err, "mmx"));
}

TEST_CASE("every command has a help with examples") {
  for (const Words& arguments : {Words{"--help"}, Words{"-h"}, Words{"generate", "--help"},
                                 Words{"tokenize", "-h"}, Words{"info", "--help"}}) {
    const Outcome outcome = run(arguments);
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
    CHECK(contains(outcome.out, "Usage: gpt2 "));
    CHECK(contains(outcome.out, "Examples:\n  gpt2 "));
  }
  CHECK(contains(run({"-m", model(), "--help"}).out, "Usage: gpt2 generate"));
  CHECK(contains(run({"generate", "--help"}).out, "--temperature N"));
}

TEST_CASE("the version is told") {
  const Outcome outcome = run({"--version"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out.starts_with("gpt2 "));
  CHECK(outcome.out.ends_with("\n"));
}
