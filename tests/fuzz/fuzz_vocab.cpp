#include "fuzz_tokenizer.h"

// Fuzzes vocab.json. There are no merges, because few vocabularies would have the tokens that
// merges need.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gpt2::test::TemporaryDirectory folder;
  static const auto merges = folder.write("merges.txt", "#version: 0.2\n");
  folder.write("vocab.json", gpt2::fuzz::text_of(data, size));
  gpt2::fuzz::expect_answer([] {
    const gpt2::Tokenizer tokenizer = gpt2::Tokenizer::load(folder.path());
    gpt2::fuzz::use(tokenizer, gpt2::fuzz::is_complete(tokenizer));
  });
  return 0;
}
