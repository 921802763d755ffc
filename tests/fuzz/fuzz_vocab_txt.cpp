#include "fuzz_tokenizer.h"

// Fuzzes the vocab.txt of BERT. Its tokens must give texts back, whatever they are.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gpt2::test::TemporaryDirectory folder;
  folder.write("vocab.txt", gpt2::fuzz::text_of(data, size));
  gpt2::fuzz::expect_answer([] {
    const gpt2::Tokenizer tokenizer = gpt2::Tokenizer::load(folder.path());
    gpt2::fuzz::use(tokenizer, /*is_lossless=*/false);
    static_cast<void>(tokenizer.decode(tokenizer.encode(gpt2::fuzz::kText)));
  });
  return 0;
}
