// The reader of spiece.model, SentencePiece's normalization, and its models Unigram and BPE.
#include <nlohmann/json.hpp>

#include "support/test.h"
#include "support/tokenizer_cases.h"
#include "text/tokenizer_impl.h"

namespace gpt2::test::sentencepiece_test {

using Kind = Piece::Kind;

namespace {

const std::filesystem::path kGoldens = std::filesystem::path(GPT2_TEST_DATA) / "oracle/tokenizers";

std::string read_model(std::string_view folder) {
  return read_text(kGoldens / folder / "spiece.model");
}

TokenSink encoded(const TokenModel& model, std::string_view text) {
  Symbols symbols;
  TokenSink out = {.with_ranges = true};
  out.begin({text});
  model(text, symbols, out);
  return out;
}

std::vector<TokenId> ids_of(const TokenModel& model, std::string_view text) {
  const TokenSink out = encoded(model, text);
  CHECK(out.ranges.size() == out.ids.size());
  std::size_t end = 0;
  for (const TextRange& range : out.ranges) {
    CHECK(range.begin >= end);
    end = range.end;
  }
  if (out.lost_bytes == 0) CHECK(end == text.size());
  return out.ids;
}

// A field of a protobuf that has bytes.
std::string field(int number, std::string_view content) {
  std::string out = {static_cast<char>(number << 3 | 2), static_cast<char>(content.size())};
  return out.append(content);
}

std::string piece(std::string_view text, Kind kind) {
  return field(1, field(1, text) + "\x18" + static_cast<char>(kind));
}

}  // namespace

TEST_CASE("of equal sums, the first wins, and rounding to float is SentencePiece's") {
  const std::vector<Piece> pieces = {{"x", -16777216}, {"a", -0.25}, {"b", -0.25}, {"ab", -0.6},
                                     {"cd", -2},       {"c", -1},    {"d", -1}};
  const TokenModel in_double = unigram_model(pieces, {});
  CHECK(ids_of(in_double, "xab") == std::vector<TokenId>{0, 1, 2});
  CHECK(ids_of(in_double, "cd") == std::vector<TokenId>{4});
  // Floats of this size have a distance of 2, so that all paths to the end are equal.
  const TokenModel in_float = unigram_model(pieces, {.float_scores = true});
  CHECK(ids_of(in_float, "xab") == std::vector<TokenId>{0, 3});
  CHECK(ids_of(in_float, "ab") == std::vector<TokenId>{1, 2});
}

TEST_CASE("a trie finds all pieces, and has few nodes however long the pieces are") {
  std::vector<std::string> texts = {"a", "ab", "abcd", "abce", "b"};
  for (std::size_t i = 0; i < 300; ++i) texts.push_back(std::string(900, 'x') + std::to_string(i));
  std::vector<PieceTrie::Entry> entries;
  for (const std::string& text : texts) {
    entries.emplace_back(text, static_cast<TokenId>(entries.size()));
  }
  const PieceTrie trie(entries);
  CHECK(trie.size() < 10000);
  for (const auto& [text, id] : entries) CHECK(trie.find(text) == id);
  for (const std::string_view text : {"", "abc", "abcde", "c", "x"}) CHECK(trie.find(text) == -1);
  CHECK(trie.longest_prefix("abcx").length == 2);
  CHECK(trie.longest_prefix("abcex").id == 3);
  CHECK(PieceTrie().is_empty());
  CHECK(PieceTrie().longest_prefix("a").length == 0);
}

TEST_CASE("characters without a piece become bytes, one unknown token, or nothing") {
  std::vector<Piece> pieces = {{"?", 0, Kind::unknown},
                               {"a", -1},
                               {"<0xC3>", 0, Kind::byte},
                               {"<0xA9>", 0, Kind::byte},
                               {"<s>", 0, Kind::control},
                               {"[A]", 0, Kind::user_defined},
                               {"[", -1},
                               {"A]", -1}};
  const std::string_view text =
      "\xc3\xa9"
      "a"
      "\xc3\xa9<";
  const TokenSink out = encoded(unigram_model(pieces, {.unknown = 0, .byte_fallback = true}), text);
  CHECK(out.ids == std::vector<TokenId>{2, 3, 1, 0});
  CHECK(out.ranges == std::vector<TextRange>{{0, 1}, {1, 2}, {2, 3}, {3, 6}});
  CHECK(out.lost_bytes == 3);
  CHECK(ids_of(unigram_model(pieces, {.unknown = 0}), text) == std::vector<TokenId>{0, 1, 0});
  CHECK(encoded(unigram_model(pieces, {}), text).lost_bytes == 5);
  CHECK(ids_of(unigram_model(pieces, {}), text) == std::vector<TokenId>{1});
  for (const bool is_bpe : {false, true}) {
    const TokenModel model = unigram_model(pieces, {.unknown = 0, .is_bpe = is_bpe});
    CHECK(ids_of(model, "a[A]<s>") == std::vector<TokenId>{1, 5, 0});
  }
}

TEST_CASE("the normalizer knows where each byte comes from") {
  SentencePieceNormalizer normalizer;
  TextBuffer buffer;
  std::size_t left = rewrite_limit(0);
  const TextRange a = {1, 2}, space = {2, 3}, wrong = {4, 5};
  CHECK(normalizer.normalize({" a  \xff "}, true, buffer, left).text == "\u2581a\u2581\uFFFD");
  CHECK(buffer.origins == std::vector<TextRange>{
                              {1, 1}, {1, 1}, {1, 1}, a, space, space, space, wrong, wrong, wrong});
  CHECK(normalizer.normalize({"  "}, true, buffer, left).text.empty());
  normalizer.treat_whitespace_as_suffix = true;
  normalizer.escape_whitespaces = false;
  CHECK(normalizer.normalize({" a  b "}, true, buffer, left).text == "a b ");
  CHECK(buffer.origins == std::vector<TextRange>{a, space, wrong, {5, 5}});
}

TEST_CASE("a rule is applied to the longest text, and in HuggingFace's form to a grapheme") {
  const std::string bytes = read_model("unigram_small_rules");
  const Precompiled rules = read_sentencepiece_file(bytes, "file").normalizer.precompiled_charsmap;
  CHECK(rules.match("abaa").replacement == "xyz");
  CHECK(rules.match("abaa").length == 3);
  CHECK(rules.match("q").length == 0);
  std::string out;
  for (std::size_t at = 0; at < 3;) at += rules.rewrite("aba", at, out);
  CHECK(out == "aba");
}

TEST_CASE("damaged files are refused") {
  const std::string unknown = piece("<unk>", Kind::unknown);
  const struct {
    std::string bytes;
    std::string_view fact;
  } cases[] = {
      {"", "0 of 0 pieces"},
      {piece("a", Kind::normal), "0 of 1 pieces"},
      {unknown + unknown, "2 of 2 pieces"},
      {unknown + "\x0a\x7f", "127 more bytes"},
      {unknown + "\x0b", "wire type 3"},
      {std::string(11, '\xff'), "ten bytes"},
      {piece("", Kind::normal), "piece 0 has 0 bytes"},
      {piece("a", static_cast<Kind>(7)), "type 7"},
      {unknown + field(1, field(1, "a") + std::string("\x15\0\0\xc0\x7f", 5)), "score nan"},
      {unknown + field(3, field(2, std::string("\x08\0\0\0abcd", 8))), "a trie of 8"},
      {unknown + field(3, field(2, "abc")), "has 3 bytes"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.fact);
    check_refused([&] { static_cast<void>(read_sentencepiece_file(one.bytes, "spiece.model")); },
                  {"spiece.model: ", one.fact});
  }
  check_refused([&] { static_cast<void>(read_sentencepiece_file(field(2, "\x18\x03"), "file")); },
                {"model_type is 3"}, ErrorCode::unsupported);
  CHECK(read_sentencepiece_file(unknown + "\x48\x05", "file").pieces.size() == 1);
}

}  // namespace gpt2::test::sentencepiece_test
