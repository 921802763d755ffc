#include "fuzz_tokenizer.h"
#include "text/tokenizer_impl.h"

// Fuzzes a table of normalization rules, which also serves as a text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpt2;
  const std::string_view bytes = fuzz::text_of(data, size);
  fuzz::expect_answer([&] {
    const Precompiled rules(bytes, "file");
    for (const std::string_view text : {fuzz::kText, bytes.substr(0, 4096)}) {
      std::string out;
      for (std::size_t at = 0; at < text.size();) {
        const Precompiled::Match rule = rules.match(text.substr(at));
        if (rule.length > text.size() - at) __builtin_trap();
        out = rule.replacement;
        at += rules.rewrite(text, at, out);
      }
    }
    TextBuffer buffer;
    std::size_t left = std::size_t{1} << 30;
    SentencePieceNormalizer{.precompiled_charsmap = rules}.normalize({bytes}, true, buffer, left);
  });
  return 0;
}
