// Tests GPT-2's own token ids. GPT-2's vocabulary is not part of the repository, so the test uses
// only the part of it that some texts need. tools/make_gpt2_subset.py explains why such a part is
// enough for a true check.
#include "gpt2/tokenizer.h"
#include "support/alphabet_model.h"
#include "support/test.h"
#include "support/tokenizer_cases.h"

namespace gpt2::test::gpt2_ids_test {

using nlohmann::json;

namespace {

constexpr TokenId kEndOfText = 50256;

// Returns the tokens of GPT-2 that stand for one byte each. The bytes that print as themselves have
// the first ids.
json byte_tokens() {
  json vocabulary;
  TokenId next = 0;
  for (const bool prints : {true, false}) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool stands_for_itself = printable_byte(byte) < "\u0100";
      if (stands_for_itself == prints) vocabulary[printable_byte(byte)] = next++;
    }
  }
  return vocabulary;
}

Tokenizer load(const json& subset) {
  json vocabulary = byte_tokens();
  std::string merges = "#version: 0.2\n";
  for (const json& merge : subset.at("merges")) {
    const auto left = merge.at(1).get<std::string>();
    const auto right = merge.at(2).get<std::string>();
    vocabulary[left + right] = 256 + merge.at(0).get<TokenId>();
    merges += left + " " + right + "\n";
  }
  vocabulary["<|endoftext|>"] = kEndOfText;
  const TemporaryDirectory folder;
  folder.write("vocab.json", vocabulary.dump());
  folder.write("merges.txt", merges);
  return Tokenizer::load(folder.path());
}

}  // namespace

TEST_CASE("ids equal GPT-2's own") {
  const json subset = json::parse(read_text(tokenizer_data("gpt2_subset.json")));
  const Tokenizer tokenizer = load(subset);
  CHECK(tokenizer.end_of_text() == kEndOfText);
  CaseCount count;
  for (const json& one : subset.at("cases")) {
    check_case(tokenizer, one, count);
    const auto text = one.at("text").get<std::string>();
    CHECK(tokenizer.decode(one.at("ids").get<std::vector<TokenId>>()) == text);
  }
  CHECK(count.encoded > 150);
}

}  // namespace gpt2::test::gpt2_ids_test
