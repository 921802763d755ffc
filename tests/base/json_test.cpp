#include "base/json.h"

#include <string>

#include "base/fail.h"
#include "base/utf8.h"
#include "gpt2/error.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace gpt2::test::json_test {

namespace {
std::string refusal(std::string_view text, gpt2::JsonLimits limits = {}) {
  return refusal_of([&] { (void)parse_json(text, "file.json", limits); });
}
}  // namespace

TEST_CASE("parse_json builds the tree that the text describes") {
  const auto document = parse_json(
      R"( {"a": [1, -2, 3.5, "x\u00e9", true, null, {}], "b": {"a": []}} )", "file.json");
  const auto& json = document.root;
  CHECK(json.at("a").size() == 7);
  CHECK(json.at("a")[0].is_number_unsigned());
  CHECK(json.at("a")[1] == -2);
  CHECK(json.at("a")[2] == 3.5);
  CHECK(json.at("a")[3] == "x\xc3\xa9");
  CHECK(json.at("a")[4] == true);
  CHECK(json.at("a")[5].is_null());
  CHECK(json.at("a")[6].is_object());
  CHECK(json.at("b").at("a").is_array());
  CHECK(parse_json("7", "file.json").root == 7);
}

TEST_CASE("parse_json names file, line and column where a text stops being JSON") {
  CHECK(refusal("{\"a\": 1,\n  \"b\" 2}").find("file.json: invalid JSON at line 2, column 7: ") ==
        0);
  CHECK(refusal("").find("file.json: invalid JSON at column 1: ") == 0);
  CHECK(refusal("{\n").find("file.json: invalid JSON at line 2, column 1: ") == 0);
  CHECK(refusal("[1, 2").find("at column 6") != std::string::npos);
  CHECK(refusal("[1e999]") ==
        "file.json: invalid JSON at column 6: number overflow parsing '1e999'");
  for (const char* text : {"{\"a\":1,}", "[1 2]", "{} {}", "// x\n1", "nul", "01", "+1", "1.",
                           "'a'", "\"\\x\"", "\"\\ud800\"", "\"\t\"", "{a:1}", "NaN", "1e999"}) {
    CAPTURE(text);
    CHECK(refusal(text).find("file.json: invalid JSON") == 0);
  }
}

TEST_CASE("parse_json refuses text that is not UTF-8, and escapes it in the message") {
  const std::string message = refusal("[\"ab\xff\x1b[31m\"]");
  CHECK(message.find("invalid JSON") != std::string::npos);
  for (const char c : message) CHECK((c >= 0x20 && c < 0x7f));
}

TEST_CASE("parse_json refuses a byte order mark, and a NUL after the value") {
  CHECK(refusal("\xef\xbb\xbf{}").find("byte order mark") != std::string::npos);
  CHECK(refusal(std::string("{}\0{}", 5)).find("NUL") != std::string::npos);
  CHECK(refusal(std::string("{}\0", 3)).find("NUL") != std::string::npos);
}

TEST_CASE("parse_json refuses a name that appears twice in one object") {
  CHECK(refusal(R"({"a": 1, "b": {"a": 1}, "a": 2})") ==
        "file.json: key 'a' appears twice in one object");
}

TEST_CASE("parse_json refuses text that is nested too deeply, however long it is") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(parse_json(nested(128), "file.json").root.is_array());
  CHECK(refusal(nested(129)) == "file.json: JSON nested deeper than 128 levels");
  CHECK(refusal(std::string(1'000'000, '[')) == "file.json: JSON nested deeper than 128 levels");
  CHECK(refusal("[[1]]", {.max_depth = 1}) == "file.json: JSON nested deeper than 1 levels");
}

TEST_CASE("parse_json refuses more values than the limit") {
  CHECK(parse_json("[1,2]", "file.json", {.max_values = 3}).root.size() == 2);
  CHECK(refusal("[1,2,3]", {.max_values = 3}) == "file.json: JSON of more than 3 values");
}

TEST_CASE("messages of parse_json stay short, however long the text is") {
  CHECK(refusal("\"" + std::string(100'000, 'a')).size() < 300);
}

TEST_CASE("quote shows any bytes as one line of printable ASCII") {
  CHECK(gpt2::quote("wte.weight") == "'wte.weight'");
  CHECK(gpt2::quote("a\n\x1b[0m\xc3\xa9") == "'a\\x0a\\x1b[0m\\xc3\\xa9'");
  CHECK(gpt2::quote("abcdef", 3) == "'abc...'");
}

TEST_CASE("valid_utf8_prefix ends where RFC 3629 says") {
  const auto valid = [](std::string_view text) { return gpt2::valid_utf8_prefix(text); };
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

}  // namespace gpt2::test::json_test
