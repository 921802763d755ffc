// Compares the token ids with GPT-2's own vocabulary to those of HuggingFace.
#include <cstdlib>

#include "gpt2/tokenizer.h"
#include "support/test.h"
#include "support/tokenizer_cases.h"

namespace gpt2::test::tokenizer_vectors_test {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

bool is_there(const fs::path& path) {
  if (!path.empty() && fs::exists(path)) return true;
  WARN("skipped: no " << (path.empty() ? "vocabulary of GPT-2 ($GPT2_TEST_VOCAB)" : path.string()));
  SUCCEED();
  return false;
}

// Loads vocab.json and merges.txt without tokenizer.json, with a tokenizer_config.json of the
// test's own.
Tokenizer load_pair(const fs::path& vocabulary, std::string_view config = "{}") {
  const TemporaryDirectory folder;
  folder.write("vocab.json", read_text(vocabulary / "vocab.json"));
  folder.write("merges.txt", read_text(vocabulary / "merges.txt"));
  folder.write("tokenizer_config.json", config);
  return Tokenizer::load(folder.path());
}

// Loads both forms of the tokenizer, if both exist.
std::vector<Tokenizer> load_all(const fs::path& vocabulary) {
  std::vector<Tokenizer> all = {load_pair(vocabulary)};
  if (fs::exists(vocabulary / "tokenizer.json")) all.push_back(Tokenizer::load(vocabulary));
  return all;
}

void check_lines(const std::vector<Tokenizer>& tokenizers, const fs::path& file,
                 bool is_lossless = true) {
  CaseCount count;
  for (const json& one : read_lines(file)) {
    for (const Tokenizer& tokenizer : tokenizers) {
      check_case(tokenizer, one, count);
      const auto text = one.at("text").get<std::string>();
      if (is_lossless) CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
    }
  }
  CHECK(count.encoded > 0);
  WARN("compared " << count.encoded / tokenizers.size() << " cases of " << file.string()
                   << " with each of " << tokenizers.size() << " tokenizers");
}

}  // namespace

TEST_CASE("ids equal HuggingFace's") {
  const fs::path vocabulary = real_vocabulary();
  if (!is_there(vocabulary)) return;
  check_lines(load_all(vocabulary), tokenizer_data("tokenizer_cases.jsonl"));
  check_lines({load_pair(vocabulary, R"({"add_prefix_space": true})")},
              tokenizer_data("tokenizer_prefix_space_cases.jsonl"), /*is_lossless=*/false);
  if (const char* more = std::getenv("GPT2_TOKENIZER_CASES")) {
    check_lines(load_all(vocabulary), more);
  }
}

TEST_CASE("ids decode to the bytes and the text that HuggingFace gives") {
  const fs::path vocabulary = real_vocabulary();
  if (!is_there(vocabulary)) return;
  std::size_t compared = 0;
  for (const Tokenizer& tokenizer : load_all(vocabulary)) {
    CHECK(tokenizer.size() == 50257);
    CHECK(tokenizer.end_of_text() == 50256);
    CHECK(tokenizer.is_special(50256));
    for (const json& one : read_lines(tokenizer_data("tokenizer_decode_cases.jsonl"))) {
      const std::string bytes = tokenizer.decode(one.at("ids").get<std::vector<TokenId>>());
      CHECK(replaced(bytes) == one.at("text").get<std::string>());
      std::ostringstream hex;
      for (const char c : bytes) {
        constexpr char kDigits[] = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        hex << kDigits[byte >> 4] << kDigits[byte & 15];
      }
      CHECK(hex.str() == one.at("hex").get<std::string>());
      ++compared;
    }
  }
  WARN("compared " << compared << " decodings");
}

}  // namespace gpt2::test::tokenizer_vectors_test
