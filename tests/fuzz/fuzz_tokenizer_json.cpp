#include "fuzz_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gpt2::test::TemporaryDirectory folder;
  folder.write("tokenizer.json", gpt2::fuzz::text_of(data, size));
  gpt2::fuzz::expect_answer(
      [] { gpt2::fuzz::use(gpt2::Tokenizer::load(folder.path()), /*is_lossless=*/false); });
  return 0;
}
