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

TEST_CASE("only the text before a stop string is written") {
  const Outcome outcome = run({"END"}, {"one ", "twoEND three", "four"});
  CHECK(outcome.text == "one two");
  CHECK(outcome.stopped_after == 2);
}

TEST_CASE("a stop string across pieces is found") {
  const Outcome outcome = run({"\n\n"}, {"a\n", "b\n", "\nc"});
  CHECK(outcome.text == "a\nb");
  CHECK(outcome.stopped_after == 3);
  CHECK(run({"abcd"}, {"xa", "b", "c", "d"}).text == "x");
}

TEST_CASE("text that only begins like a stop string is written in the end") {
  CHECK(run({"abcd"}, {"xabc"}).text == "xabc");
  CHECK(run({"abab!"}, {"ab", "ab", "ab", "?"}).text == "ababab?");
}

TEST_CASE("no text is held back longer than necessary") {
  StopFilter filter({"stop"});
  CHECK(filter.write("a st") == "a ");
  CHECK(filter.write("ar") == "star");
}

TEST_CASE("the stop string that comes first in the text ends it") {
  CHECK(run({"c", "b"}, {"abc"}).text == "a");
  CHECK(run({"bcd", "c"}, {"ab", "c"}).text == "ab");
}

TEST_CASE("the text does not depend on how it is divided") {
  CHECK(run({"abcde", "bc"}, {"xabcde"}).text == "xa");
  CHECK(run({"abcde", "bc"}, {"xabc", "de"}).text == "xa");
  CHECK(run({"bc", "abc"}, {"xabc"}).text == "x");
  CHECK(run({"bc", "abc"}, {"xab", "c"}).text == "x");
  // Every text of eight letters with some stop strings that overlap, whole and letter by letter.
  const std::vector<std::string> stops = {"abab", "ba", "bb", "aab", "bbb"};
  for (unsigned bits = 0; bits < 256; ++bits) {
    std::string text;
    std::vector<std::string> letters;
    for (unsigned i = 0; i < 8; ++i) letters.emplace_back((bits >> i & 1) != 0 ? "a" : "b");
    for (const std::string& letter : letters) text += letter;
    CHECK(run(stops, {text}).text == run(stops, letters).text);
  }
}

TEST_CASE("without stop strings, the whole text is written") {
  CHECK(run({}, {"a", "b"}).text == "ab");
}

}  // namespace gpt2::test::stop_filter_test
