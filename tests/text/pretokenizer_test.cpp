#include "text/tokenizer_impl.h"

#include <nlohmann/json.hpp>

#include <utf8proc.h>

#include "base/utf8.h"
#include "support/test.h"
#include "support/tokenizer_cases.h"

namespace gpt2::test::pretokenizer_test {

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t length = first_word_length(text);
    REQUIRE(length > 0);
    REQUIRE(length <= text.size());
    words.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return words;
}

using Words = std::vector<std::string>;

}  // namespace

// The expected words come from Python's `regex` module.
TEST_CASE("text is split where GPT-2's pattern splits it") {
  CHECK(words_of("Hello my friend, how're you?") ==
        Words{"Hello", " my", " friend", ",", " how", "'re", " you", "?"});
  CHECK(words_of("a \n b") == Words{"a", " \n", " b"});
  CHECK(words_of("a\n\nb") == Words{"a", "\n", "\n", "b"});
  CHECK(words_of("a  b  ") == Words{"a", " ", " b", "  "});
  CHECK(words_of("x\u00a0\u00a0y") == Words{"x", "\u00a0", "\u00a0", "y"});
  CHECK(words_of("'S 's") == Words{"'", "S", " '", "s"});
  CHECK(words_of("I'll''ll") == Words{"I", "'ll", "''", "ll"});
  CHECK(words_of("e\u0301") == Words{"e", "\u0301"});
  CHECK(words_of("\n x") == Words{"\n", " x"});
  CHECK(words_of("we've 12 ¼x'd't'm's'l") ==
        Words{"we", "'ve", " 12", " ¼", "x", "'d", "'t", "'m", "'s", "'", "l"});
  CHECK(words_of(" ") == Words{" "});
  CHECK(words_of("'") == Words{"'"});
  CHECK(words_of("'l") == Words{"'", "l"});
  CHECK(words_of("\x1c\x1f") == Words{"\x1c\x1f"});
  CHECK(words_of("a\u200bb\ufeffc") == Words{"a", "\u200b", "b", "\ufeff", "c"});
}

TEST_CASE("bytes that are not UTF-8 count as neither letters, numbers nor spaces") {
  CHECK(words_of("a\xff\xfe"
                 "b") == Words{"a", "\xff\xfe", "b"});
  CHECK(words_of(" \xc3 x") == Words{" \xc3", " x"});
  CHECK(words_of("\xe4\xb8") == Words{"\xe4\xb8"});
  CHECK(words_of("!\x80!1") == Words{"!\x80!", "1"});
  CHECK(words_of("\xed\xa0\x80z") == Words{"\xed\xa0\x80", "z"});
  CHECK(words_of("\xc0\xa0z") == Words{"\xc0\xa0", "z"});
}

TEST_CASE("every code point has the class that Python's regex module gives it") {
  const auto expected =
      nlohmann::json::parse(test::read_text(test::tokenizer_data("unicode_classes.json")));
  std::vector<CharClass> classes(0x110000, CharClass::other);
  const auto fill = [&](const char* key, CharClass kind) {
    for (const auto& range : expected.at(key)) {
      for (std::size_t c = range.at(0); c <= range.at(1); ++c) classes[c] = kind;
    }
  };
  fill("L", CharClass::letter);
  fill("N", CharClass::number);
  fill("S", CharClass::space);

  // The file was made with Unicode 15.0. Later versions assign classes to code points that had
  // none, but never take a class away.
  const bool is_same_version = std::string_view(utf8proc_unicode_version()).starts_with("15.0");
  std::size_t newer = 0;
  std::size_t wrong = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const CharClass found = class_of(static_cast<char32_t>(c));
    if (found == classes[c]) continue;
    const bool may_be_new = !is_same_version && classes[c] == CharClass::other;
    ++(may_be_new ? newer : wrong);
  }
  CHECK(wrong == 0);
  CHECK(newer < 20000);
}

TEST_CASE("word characters are letters, marks, digits, underscores and joiners") {
  for (const char32_t c : {U'a', U'Z', U'0', U'_', U'é', U'中', U'٣', U'\u0301', U'Ⅷ', U'ⓐ',
                           U'\u200d', U'\u200c', U'\u203f'}) {
    CAPTURE(static_cast<std::uint32_t>(c));
    CHECK(is_word_char(c));
  }
  for (const char32_t c : {U' ', U'-', U'.', U'½', U'²', U'€', U'😀', U'\u00a0', U'\u200b'}) {
    CAPTURE(static_cast<std::uint32_t>(c));
    CHECK_FALSE(is_word_char(c));
  }
}

}  // namespace gpt2::test::pretokenizer_test
