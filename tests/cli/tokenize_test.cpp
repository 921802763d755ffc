// Runs gpt2 tokenize as a process.
#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::tokenize_test {

TEST_CASE("tokenize turns a text into ids and back") {
  const TemporaryDirectory directory;
  const std::string file = directory.write("text.txt", "ab\n").string();
  const std::string ids = directory.write("ids.txt", "97 98\n").string();
  const auto out = [](const Words& more, const std::string& input = "") {
    return run(joined_words({"tokenize", "-m", alphabet_model()}, more), {.input = input}).out;
  };
  CHECK(out({"a b"}) == "97 32 98\n");
  CHECK(out({"<|endoftext|>"}) == "256\n");
  CHECK(out({"-"}, "a\n") == "97 10\n");
  CHECK(out({"-f", file}) == "97 98 10\n");
  CHECK(out({"--decode", "--file", ids}) == "ab");
  for (const Words& given : std::vector<Words>{
           {"97, 32\n98"}, {"97", "32,", "98"}, {"[97, 32, 98]"}, {"[[97, 32, 98]]"}}) {
    CHECK(out(joined_words({"--decode"}, given)) == "a b");
  }
  CHECK(out({"--decode"}, "[97,98]\n") == "ab");
  CHECK(out({"--decode"}, "\n") == "");
  check_refused({"tokenize", "-m", alphabet_model(), "--decode", "[[97], [98]]"}, 1, {"'['"});
  check_refused({"tokenize", "-m", alphabet_model(), "a", "b"}, 2, {"'b'", "quotes"});
}

TEST_CASE("tokenize --pieces prints the id and the text of each token") {
  CHECK(run({"tokenize", "--pieces", "Once upon\n"}).out ==
        "{\"id\":443,\"text\":\"Once\"}\n{\"id\":452,\"text\":\" upon\"}\n"
        "{\"id\":198,\"text\":\"\\n\"}\n");
  check_refused({"tokenize", "--pieces", "--decode", "97"}, 2, {"--pieces", "--decode"});
}

TEST_CASE("tokenize says that it waits for input from a terminal", "[terminal]") {
  const Outcome outcome =
      run({"tokenize", "-m", alphabet_model()}, {.input = "ab\n\x04", .terminal = true});
  CHECK(outcome.out == "97 98 10\n");
  CHECK(outcome.err == "gpt2: waiting for a text on standard input; Ctrl-D ends it\n");
}

TEST_CASE("tokenize is lossless on every byte") {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const std::string ids = output_of({"tokenize", "-m", alphabet_model()}, {.input = bytes});
  CHECK(output_of({"tokenize", "-m", alphabet_model(), "--decode"}, {.input = ids}) == bytes);
}

TEST_CASE("ids without a token decode to nothing, up to the last id of the model") {
  const std::string model = std::string(GPT2_TEST_DATA) + "/oracle/loading/decode_padded_ids";
  const auto decoded = [&](const char* ids) {
    return run({"tokenize", "-m", model, "--decode", ids});
  };
  CHECK(decoded("257 265 32 99 270").out == "the c");
  CHECK(decoded("260 271").out == "");
  CHECK(decoded("272").err.find("from 0 to 271, found '272'") != std::string::npos);
}

TEST_CASE("the base of an adapter that has its own tokenizer is not needed") {
  const AlphabetModel model;
  std::filesystem::remove(model.path() / "model.safetensors");
  model.write("adapter_config.json", R"({"base_model_name_or_path": "no/such"})");
  CHECK(run({"tokenize", "-m", model.name(), "ab"}).out == "97 98\n");
  check_refused({"tokenize", "-m", model.name(), "--decode", "97"}, 1, {"adapter_config.json"});
}

}  // namespace gpt2::test::tokenize_test
