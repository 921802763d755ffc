#include "fuzz_tokenizer.h"
#include "text/tokenizer_impl.h"

// Fuzzes a spiece.model. What it makes of a text must be whole, whatever its pieces and rules are.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpt2;
  const std::string_view bytes = fuzz::text_of(data, size);
  fuzz::expect_answer([&] {
    const SentencePieceFile file = read_sentencepiece_file(bytes, "file");
    const TokenModel model = unigram_model(file.pieces, file.options);
    for (const std::string_view text : {fuzz::kText, bytes.substr(0, 2048)}) {
      TextBuffer buffer;
      std::size_t left = std::size_t{1} << 30;
      const std::string_view normalized =
          file.normalizer.normalize({text}, true, buffer, left).text;
      if (buffer.origins.size() != normalized.size()) __builtin_trap();
      for (const TextRange& range : buffer.origins) {
        if (range.begin > range.end || range.end > text.size()) __builtin_trap();
      }
      Symbols symbols;
      TokenSink out = {.with_ranges = true};
      out.begin({normalized});
      model(normalized, symbols, out);
      if (out.ids.size() != out.ranges.size()) __builtin_trap();
      std::size_t end = 0;
      for (std::size_t i = 0; i < out.ids.size(); ++i) {
        const Piece& piece = file.pieces.at(static_cast<std::size_t>(out.ids[i]));
        const TextRange range = out.ranges[i];
        const std::string_view part = normalized.substr(range.begin, range.end - range.begin);
        const bool is_text = piece.kind == Piece::Kind::normal && piece.text.front() != '<';
        if (part.empty() || (is_text && part != piece.text)) __builtin_trap();
        if (range.begin != end) __builtin_trap();
        end = range.end;
      }
      if (end != normalized.size()) __builtin_trap();
    }
  });
  return 0;
}
