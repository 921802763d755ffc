#include "base/utf8.h"
#include "gpt2/tokenizer.h"
#include "support/test.h"
#include "support/tokenizer_cases.h"

namespace gpt2::test::utf8_test {

namespace {

// Returns the joined outputs for pieces that end where `is_end` says. Checks that every output
// consists of whole characters.
template <class F>
std::string streamed(std::string_view bytes, const F& is_end) {
  Utf8Stream stream;
  std::string text;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= bytes.size(); ++i) {
    if (i < bytes.size() && !is_end(i)) continue;
    const std::string_view out = stream.write(bytes.substr(begin, i - begin));
    REQUIRE(valid_utf8_prefix(out) == out.size());
    text += out;
    begin = i;
  }
  text += stream.flush();
  CHECK(stream.flush().empty());
  return text;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

constexpr const char* kBad = "\ufffd";

}  // namespace

TEST_CASE("characters are written once complete, and bytes that cannot become one are replaced") {
  Utf8Stream stream;
  CHECK(stream.write("a\xc3") == "a");
  CHECK(stream.write("") == "");
  CHECK(stream.write("\xa9") == "é");
  CHECK(stream.write("\xf0\x9f") == "");
  CHECK(stream.write("\x98") == "");
  CHECK(stream.write("\x80!") == "😀!");
  CHECK(stream.flush() == "");
  CHECK(stream.write("\xe4\xb8") == "");
  CHECK(stream.flush() == kBad);
  CHECK(stream.write("b\xff") == std::string("b") + kBad);
  CHECK(stream.write("\xed") == "");
  CHECK(stream.write("\xa0") == std::string(kBad) + kBad);  // ED A0 would begin a surrogate
  CHECK(stream.write("\xf0\x9f") == "");
  CHECK(stream.write("x") == std::string(kBad) + "x");
}

TEST_CASE("the stream decodes like Python's errors=\"replace\", however the bytes are divided") {
  std::mt19937 random(3);
  std::size_t compared = 0;
  for (const auto& one : read_lines(tokenizer_data("tokenizer_decode_cases.jsonl"))) {
    const std::string bytes = from_hex(one.at("hex"));
    const auto expected = one.at("text").get<std::string>();
    CHECK(replaced(bytes) == expected);
    CHECK(streamed(bytes, [](std::size_t) { return true; }) == expected);
    CHECK(streamed(bytes, [&](std::size_t) { return random() % 3 == 0; }) == expected);
    ++compared;
  }
  CHECK(compared == 700);
}

TEST_CASE("valid_utf8_prefix ends where RFC 3629 says") {
  const auto valid = [](std::string_view text) { return valid_utf8_prefix(text); };
  CHECK(valid("") == 0);
  CHECK(valid("abc\x7f") == 4);
  CHECK(valid("\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf") == 16);
  CHECK(valid("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf") == 8);
  // A lone continuation byte, overlong forms, a surrogate, a code point past U+10FFFF, and bytes
  // that never occur.
  for (const char* bad : {"a\x80", "a\xc0\x80", "a\xc1\xbf", "a\xe0\x9f\xbf", "a\xf0\x8f\xbf\xbf",
                          "a\xed\xa0\x80", "a\xf4\x90\x80\x80", "a\xf5\x80\x80\x80", "a\xff"}) {
    CHECK(valid(bad) == 1);
  }
  // Sequences that are cut short by the end of the text or by another character.
  for (const char* bad : {"a\xc3", "a\xe2\x82", "a\xf0\x9f\x98", "a\xe2\x82z", "a\xf0\x9f\x98z"}) {
    CHECK(valid(bad) == 1);
  }
}

TEST_CASE("a text is cut between characters") {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";  // of 1, 2, 3, 4 and 1 bytes
  const std::size_t places[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
  for (std::size_t at = 0; at < std::size(places); ++at) {
    CAPTURE(at);
    CHECK(place_to_cut(text, at) == places[at]);
  }
  CHECK(place_to_cut("", 0) == 0);
  CHECK(place_to_cut("\x80\x80", 0) == 0);
  CHECK(place_to_cut(std::string(100, '\x80'), 50) == 47);  // no character has more bytes
}

}  // namespace gpt2::test::utf8_test
