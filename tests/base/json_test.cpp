// Tests parse_json(), how answers in JSON are written (the JSON library says what a text is), and
// the text of errors, in which any file may have its say.
#include "base/json.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/fail.h"
#include "base/json_text.h"
#include "support/test.h"

namespace gpt2::test::json_test {

namespace {
std::string refusal(std::string_view text, JsonLimits limits = {}) {
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
  const std::pair<std::string, const char*> texts[] = {
      {"{\"a\": 1,\n  \"b\" 2}", "invalid JSON at line 2, column 7: "},
      {"", "invalid JSON at column 1: "},
      {"{\n", "invalid JSON at line 2, column 1: "},
      {"[1, 2", "at column 6"},
      {"{\"\xc3\xa9\xc3\xa9\xc3\xa9t\" 1}", "at column 9"},  // in characters, as an editor counts
      {"[1e999]", "invalid JSON at column 6: number overflow parsing '1e999'"},
      {"\xef\xbb\xbf{}", "byte order mark"},
      {std::string("{}\0{}", 5), "NUL"},
      {std::string("{}\0", 3), "NUL"},
      {R"({"a": 1, "b": {"a": 1}, "a": 2})", "key 'a' appears twice in one object"},
  };
  for (const auto& [text, fact] : texts) {
    CAPTURE(text);
    check_refused([&] { (void)parse_json(text, "file.json"); }, {"file.json: ", fact});
  }
  for (const char* text : {"{\"a\":1,}", "[1 2]", "{} {}", "// x\n1", "nul", "01", "+1", "1.",
                           "'a'", "\"\\x\"", "\"\\ud800\"", "\"\t\"", "{a:1}", "NaN", "1e999"}) {
    CAPTURE(text);
    CHECK(refusal(text).starts_with("file.json: invalid JSON"));
  }
}

TEST_CASE("messages of parse_json stay short and printable, whatever the text is") {
  const std::string message = refusal("[\"ab\xff\x1b[31m\"]");  // not UTF-8
  CHECK(message.find("invalid JSON") != std::string::npos);
  for (const char c : message) CHECK((c >= 0x20 && c < 0x7f));
  CHECK(refusal("\"" + std::string(100'000, 'a')).size() < 300);
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

TEST_CASE("quote shows any bytes as one line of printable ASCII") {
  CHECK(quote("wte.weight") == "'wte.weight'");
  CHECK(quote("a\n\x1b[0m\xc3\xa9") == "'a\\x0a\\x1b[0m\\xc3\\xa9'");
  CHECK(quote("abcdef", 3) == "'abc...'");
}

TEST_CASE("a message is one printable line, whatever text it is made from") {
  const auto message = [](const char* text) {
    return std::string(Error(ErrorCode::invalid_file, text).what());
  };
  CHECK(message("a\nb\r\tc") == "a b  c");
  CHECK(message("\x1b[31mred\x7f") == " [31mred ");
  CHECK(message("\xff\xe4\xb8|\u202e") == "  | ");
}

TEST_CASE("numbers in JSON have as few digits as they need") {
  const double inf = std::numeric_limits<double>::infinity();
  const Json numbers = Json::array({3.2536273f, 0.1, 3.0, -0.0, 1e-5, 1e300, 1.0 / 3, inf, 7});
  CHECK(numbers.text() == "[3.2536273,0.1,3.0,-0.0,1e-05,1e+300,0.3333333333333333,null,7]");
  CHECK(Json(std::numeric_limits<float>::quiet_NaN()).text() == "null");
  CHECK(Json(std::numeric_limits<std::uint64_t>::max()).text() == "18446744073709551615");
  CHECK(Json(std::int8_t{-5}).text() == "-5");
}

TEST_CASE("texts in JSON are those of the JSON library") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& text : {std::string(), std::string("plain"), std::string("\"\\/\n\x7f"),
                                  std::string("\xe2\x82"), std::string("\xf0\x9f\x98\x80"), all}) {
    const auto expected =
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    CHECK(Json(text).text() == expected);
    CHECK(Json{{text, 1}}.text() == "{" + expected + ":1}");
  }
}

TEST_CASE("values in JSON: arrays, objects, absent ones and trees") {
  CHECK(Json().text() == "null");
  CHECK(Json(std::optional<std::string>()).text() == "null");
  CHECK(Json(std::optional(2)).text() == "2");
  CHECK(Json(std::vector<std::vector<float>>{{}, {0.1f, 2}}).text() == "[[],[0.1,2.0]]");
  CHECK(Json(std::map<std::string, int>{{"b", 2}, {"a", 1}}).text() == R"({"a":1,"b":2})");
  Json object = Json::object();
  CHECK((object.is_object() && !object.is_string() && Json("a").is_string()));
  object.add_members_of(Json::object());
  object.add("list", Json::array());
  object.add({{"yes", true}, {"inside", {{"a", nullptr}}}});
  object.add_members_of(Json{{"more", "x"}});
  CHECK(object.text() == R"({"list":[],"yes":true,"inside":{"a":null},"more":"x"})");
  const auto tree = nlohmann::ordered_json::parse(R"({"b":[1,-2,0.5,1e30,"x",true,null],"a":{}})");
  CHECK(Json(tree).text() == R"({"b":[1,-2,0.5,1e+30,"x",true,null],"a":{}})");
  CHECK(Json(nlohmann::json(5.0f)).text() == "5.0");
}

}  // namespace gpt2::test::json_test
