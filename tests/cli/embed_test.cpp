// Runs gpt2 embed as a process and compares what it writes with what the library computes.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <thread>

#include "gpt2/embed.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/command.h"
#include "support/temporary_directory.h"

namespace gpt2::test::embed_test {

using Json = nlohmann::ordered_json;

namespace {

const std::vector<std::string> kTexts = {"The cat sat down.", "One day", "A dog"};
const std::string kInput = "The cat sat down.\nOne day\nA dog\n";

Outcome embed(Words arguments, const std::string& input = kInput) {
  arguments.insert(arguments.begin(), "embed");
  return run(arguments, {.input = input});
}

std::vector<std::vector<float>> by_library(const EmbedOptions& options) {
  std::vector<std::vector<TokenId>> texts;
  for (const auto& text : kTexts) texts.push_back(bundled::tokenizer().encode(text));
  return gpt2::embed(Engine::shared(bundled::model()), texts, options);
}

std::vector<Json> parsed(const std::string& out) {
  std::vector<Json> records;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) records.push_back(Json::parse(line));
  return records;
}

void check(const Words& arguments, const EmbedOptions& options, const std::string& input = kInput) {
  CAPTURE(arguments);
  const Outcome outcome = embed(arguments, input);
  CHECK(outcome.err == "");
  CHECK(outcome.status == 0);
  const auto expected = by_library(options);
  const auto records = parsed(outcome.out);
  REQUIRE(records.size() == expected.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].at("tokens") == bundled::tokenizer().encode(kTexts[i]).size());
    // The digits in the JSON stand for the exact float.
    CHECK(records[i].at("embedding").get<std::vector<float>>() == expected[i]);
  }
}

}  // namespace

TEST_CASE("embed writes the library's vectors as JSON") {
  check({}, {});
  check({"--pooling", "mean"}, {});
  check({"--pooling", "last"}, {.pooling = Pooling::last});
  check({"--layer", "0", "-t", "1"}, {.layer = 0});
  check({"--jsonl"}, {}, R"({"text": "The cat sat down."}
{"text": "One day"}
{"text": "A dog"})");
  std::string ids;
  for (const auto& text : kTexts) {
    for (const TokenId id : bundled::tokenizer().encode(text)) ids += std::to_string(id) + ' ';
    ids += '\n';
  }
  check({"--tokens"}, {}, ids);
  CHECK(embed({}, "").out == "");
}

TEST_CASE("embed --npy writes an array that NumPy reads") {
  const TemporaryDirectory place;
  const std::string file = (place.path() / "vectors.npy").string();
  const Outcome outcome = embed({"--npy", file});
  CHECK(outcome.status == 0);
  CHECK(outcome.out + outcome.err == "");
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(bytes.size() > 128);
  CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[8])) +
                      256 * static_cast<std::size_t>(static_cast<unsigned char>(bytes[9]));
  CHECK((10 + length) % 64 == 0);
  CHECK(bytes[9 + length] == '\n');
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 256), }";
  CHECK(bytes.substr(10, header.size()) == header);
  std::vector<float> expected;
  for (const auto& vector : by_library({})) {
    expected.insert(expected.end(), vector.begin(), vector.end());
  }
  const std::string data = bytes.substr(10 + length);
  REQUIRE(data.size() == expected.size() * sizeof(float));
  CHECK(std::memcmp(data.data(), expected.data(), data.size()) == 0);
}

TEST_CASE("a line that cannot be embedded becomes an error record or, with --npy, an error") {
  std::string long_line;
  for (int i = 0; i < 600; ++i) long_line += "a ";
  const Outcome outcome = embed({}, "One day\n\n" + long_line + "\nA dog");
  CHECK(outcome.status == 1);
  CHECK(outcome.err ==
        "gpt2: standard input: 2 of 4 lines failed: see \"error\" in their records\n");
  const auto records = parsed(outcome.out);
  REQUIRE(records.size() == 4);
  CHECK(records[0].at("tokens") == 2);
  CHECK(records[1].at("error") == "line 2: expected a text of 1 to 512 tokens, found 0");
  CHECK(records[2].at("error").get<std::string>().starts_with(
      "line 3: expected a text of 1 to 512 tokens, found "));
  CHECK(records[3].at("tokens") == 2);

  const TemporaryDirectory place;
  const std::string file = (place.path() / "vectors.npy").string();
  const Outcome refused = embed({"--npy", file}, "One day\n\nA dog");
  CHECK(refused.status == 1);
  CHECK(refused.err ==
        "gpt2: standard input: line 2: expected a text of 1 to 512 tokens, found 0\n");
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("embed --npy finds a file that it cannot write before it reads the texts") {
  CHECK(embed({"--npy", "/nowhere/v.npy"}, "One day\n\nA dog").err ==
        "gpt2: /nowhere/v.npy: cannot be written: No such file or directory\n");
}

TEST_CASE("embed --npy replaces an older array, only by a whole one, and no other file") {
  const TemporaryDirectory place;
  const std::string older = "\x93NUMPY and what was there";
  const std::string file = place.write("vectors.npy", older).string();
  const auto bytes = [&] {
    std::ifstream in(file, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  CHECK(embed({"--npy", file}, "One day\n\nA dog").status == 1);
  CHECK(bytes() == older);
  CHECK(embed({"--npy", file}, "").err ==
        "gpt2: --npy: there are no lines, so no array is written\n");
  CHECK(bytes() == older);
  CHECK(std::distance(std::filesystem::directory_iterator(place.path()), {}) == 1);
  CHECK(embed({"--npy", file}).status == 0);
  CHECK(bytes().starts_with("\x93NUMPY\1"));
  place.write("vectors.npy", "a poem");
  CHECK(embed({"--npy", file}).err ==
        "gpt2: " + file +
            " is not a NumPy array, so it is not replaced by one: give another file\n");
  CHECK(bytes() == "a poem");
}

TEST_CASE("embed does not replace its own input") {
  const TemporaryDirectory place;
  const std::string file = place.write("texts", kInput).string();
  for (const std::string name : {"texts", "./texts"}) {
    const Outcome outcome = run({"embed", "--npy", name, "texts"}, {.directory = place.path()});
    CHECK(outcome.status == 2);
    CHECK(outcome.err == "gpt2: FILE: expected another file than the one to write, " + name +
                             "; see 'gpt2 embed --help'\n");
  }
  std::ifstream in(file, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == kInput);
}

TEST_CASE("embed --npy removes its incomplete file when a signal ends it") {
  for (const int signal : Command::signals()) {
    const TemporaryDirectory place;
    const auto written = [&] {
      for (const auto& file : std::filesystem::directory_iterator(place.path())) {
        std::error_code gone;
        return file.file_size(gone) > 0 && !gone;
      }
      return false;
    };
    Command command({"embed", "--npy", "vectors.npy"}, {.pipe = true, .directory = place.path()});
    for (int line = 0; line < 40; ++line) command.write("One day\n");
    while (!written()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    command.send(signal);
    CHECK(command.wait() == -signal);
    CHECK(command.err == "gpt2: interrupted; vectors.npy was not written\n");
    CHECK(std::filesystem::is_empty(place.path()));
  }
}

TEST_CASE("embed refuses invalid arguments") {
  const std::string see = "; see 'gpt2 embed --help'\n";
  CHECK(embed({"--pooling", "max"}).err ==
        "gpt2: --pooling: expected mean or last, found 'max'" + see);
  for (const std::string layer : {"7", "-1", "x"}) {
    const Outcome outcome = embed({"--layer", layer});
    CHECK(outcome.err.starts_with("gpt2: --layer: expected a whole number from 0"));
    CHECK(outcome.err.find("6, the last layer, found '" + layer + "'") != std::string::npos);
    CHECK(outcome.status == 2);
  }
  CHECK(embed({"--pooling", "max"}).status == 2);
}

}  // namespace gpt2::test::embed_test
