// Tests files from Windows, which may begin with a byte order mark and whose lines end in CRLF, and
// the names that people give there.
#include "base/paths.h"
#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::windows_files_test {

using nlohmann::json;

namespace {

const std::string kMark = "\xef\xbb\xbf";

const TemporaryDirectory& place() {
  static const TemporaryDirectory directory;
  return directory;
}

// Runs the command with the file and the model, once for each form of the file: as it is, and as
// Windows would write it. Checks that both have the same output.
void check_same(Words words, const std::string& text) {
  std::string windows = kMark;
  for (const char c : text) windows += c == '\n' ? "\r\n" : std::string(1, c);
  words.insert(words.end(), {"-m", alphabet_model()});
  const std::string plain = place().write("input", text).string();
  for (std::string& word : words) {
    if (word == "FILE") word = plain;
  }
  const std::string expected = output_of(words);
  place().write("input", windows);
  CHECK(output_of(words) == expected);
}

}  // namespace

TEST_CASE("a text and lines from Windows are the same text and lines") {
  check_same({"-n", "3", "--greedy", "-f", "FILE"}, "ab\n");
  check_same({"tokenize", "-f", "FILE"}, "ab");
  check_same({"score", "FILE"}, "abcdefgh");
  check_same({"score", "--per-line", "FILE"}, "abc\nbcd\n");
  check_same({"score", "--jsonl", "FILE"}, "{\"text\": \"abc\"}\n{\"text\": \"bcd\"}\n");
  check_same({"embed", "FILE"}, "abc\nbcd\n");
  const std::string mark_only = place().write("input", kMark).string();
  CHECK(run({"-m", alphabet_model(), "-n", "0", "-f", mark_only}).out == "\n");
  CHECK(output_of({"-i", "-m", alphabet_model(), "-n", "3", "--greedy"},
                  {.input = kMark + "ab\r\nklm\r\n"}) == "cde\nnop\n");
}

TEST_CASE("batch answers the lines of a file from Windows, and can be resumed") {
  const auto texts = [](const Words& more, const std::string& input) {
    const auto out = place().path() / "out";
    const Words words = {"batch", place().write("input", input).string(),
                         "-o",    out.string(),
                         "-m",    alphabet_model(),
                         "-n",    "3"};
    CHECK(run(joined_words(words, more)).status == 0);
    std::string result;
    for (const json& record : json_lines(read_bytes(out))) {
      result += record["text"].get<std::string>() + '|';
    }
    return result;
  };
  CHECK(texts({"--lines"}, kMark + "ab\r\nklm\r\n") == "cde|nop|");
  CHECK(texts({"--lines"}, kMark + "ab\r\nklm\r\nx\r\n") == "cde|nop|yz |");  // resumes
  std::filesystem::remove(place().path() / "out");
  CHECK(texts({}, kMark + "{\"prompt\": \"ab\"}\r\n") == "cde|");
}

TEST_CASE("a model may have an accent in its name, and a separator at its end") {
  const std::string name = "mod\xc3\xa8le \xc3\xa9t\xc3\xa9";
  const auto directory = place().path() / path_of(name);
  std::filesystem::copy(alphabet_model(), directory);
  for (const std::string& given : {name, name + '/', (directory / "").string()}) {
    const Words words = {"-m", given, "-n", "3", "--greedy", "ab"};
    CHECK(output_of(words, {.directory = place().path()}) == "abcde\n");
  }
}

}  // namespace gpt2::test::windows_files_test
