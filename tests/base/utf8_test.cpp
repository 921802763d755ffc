#include "base/utf8.h"

#include <iterator>
#include <string>

#include "support/catch.h"

namespace gpt2::test::utf8_test {

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
