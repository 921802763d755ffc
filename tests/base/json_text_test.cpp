// Tests how answers in JSON are written. The JSON library says what a text is.
#include "base/json_text.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.h"

namespace gpt2::test::json_text_test {

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

}  // namespace gpt2::test::json_text_test
