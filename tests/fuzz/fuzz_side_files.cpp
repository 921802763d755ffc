#include "fuzz_tokenizer.h"

// Fuzzes the side files of a vocabulary. The input is the text of each of these files in turn, and
// then of all of them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr const char* kNames[] = {"added_tokens.json", "special_tokens_map.json",
                                    "tokenizer_config.json"};
  static const gpt2::test::TemporaryDirectory folder;
  static const auto vocab =
      folder.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3, "\u0120": 4})");
  static const auto merges = folder.write("merges.txt", "a b\n");
  for (const char* name : kNames) folder.write(name, "{}");
  const auto load = [] {
    gpt2::fuzz::use(gpt2::Tokenizer::load(folder.path()), /*is_lossless=*/false);
  };
  for (const char* name : kNames) {
    folder.write(name, gpt2::fuzz::text_of(data, size));
    gpt2::fuzz::expect_answer(load);
    folder.write(name, "{}");
  }
  for (const char* name : kNames) folder.write(name, gpt2::fuzz::text_of(data, size));
  gpt2::fuzz::expect_answer(load);
  return 0;
}
