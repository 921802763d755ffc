#include "fuzz_tokenizer.h"

// Fuzzes merges.txt with a vocabulary that has a token for every byte. Whatever the merges are,
// no byte may be lost.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gpt2::test::TemporaryDirectory folder;
  static const auto vocab = folder.write("vocab.json", gpt2::fuzz::read_small("vocab.json"));
  folder.write("merges.txt", gpt2::fuzz::text_of(data, size));
  gpt2::fuzz::expect_answer(
      [] { gpt2::fuzz::use(gpt2::Tokenizer::load(folder.path()), /*is_lossless=*/true); });
  return 0;
}
