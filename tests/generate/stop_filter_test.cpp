#include "generate/writing/text_sink.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace gpt2::test::stop_filter_test {

namespace {

// The text that the filter writes, and the number of the piece after which it stopped (0: never).
struct Outcome {
  std::string text;
  std::size_t stopped_after = 0;
};

Outcome run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopFilter filter(stops);
  Outcome outcome;
  for (const std::string& piece : pieces) {
    outcome.text += filter.write(piece);
    if (filter.stopped()) {
      outcome.stopped_after = static_cast<std::size_t>(&piece - pieces.data()) + 1;
      return outcome;
    }
  }
  outcome.text += filter.flush();
  return outcome;
}

}  // namespace

TEST_CASE("only the text before the first stop string is written, however the text is divided") {
  using Strings = std::vector<std::string>;
  const struct {
    Strings stops, pieces;
    std::string text;
    std::size_t stopped_after = 0;
  } cases[] = {{{"END"}, {"one ", "twoEND three", "four"}, "one two", 2},
               {{"\n\n"}, {"a\n", "b\n", "\nc"}, "a\nb", 3},
               {{"abcd"}, {"xa", "b", "c", "d"}, "x", 4},
               {{"abcd"}, {"xabc"}, "xabc"},
               {{"abab!"}, {"ab", "ab", "ab", "?"}, "ababab?"},
               {{"c", "b"}, {"abc"}, "a", 1},
               {{"bcd", "c"}, {"ab", "c"}, "ab", 2},
               {{"abcde", "bc"}, {"xabc", "de"}, "xa", 1},
               {{"bc", "abc"}, {"xab", "c"}, "x", 2},
               {{}, {"a", "b"}, "ab"}};
  for (const auto& one : cases) {
    const Outcome outcome = run(one.stops, one.pieces);
    CHECK(outcome.text == one.text);
    CHECK(outcome.stopped_after == one.stopped_after);
  }
  // Every text of eight letters with some stop strings that overlap, whole and letter by letter.
  const Strings stops = {"abab", "ba", "bb", "aab", "bbb"};
  for (unsigned bits = 0; bits < 256; ++bits) {
    std::string text;
    Strings letters;
    for (unsigned i = 0; i < 8; ++i) letters.emplace_back((bits >> i & 1) != 0 ? "a" : "b");
    for (const std::string& letter : letters) text += letter;
    CHECK(run(stops, {text}).text == run(stops, letters).text);
  }
}

TEST_CASE("no text is held back longer than necessary") {
  StopFilter filter({"stop"});
  CHECK(filter.write("a st") == "a ");
  CHECK(filter.write("ar") == "star");
}

}  // namespace gpt2::test::stop_filter_test
