#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fuzz_tokenizer.h"
#include "text/tokenizer_impl.h"

namespace {

using namespace gpt2;

// Returns the rank of each merge in merges.txt, under its left and right part in bytes.
std::map<std::pair<std::string, std::string>, std::size_t> small_merges(
    const Tokenizer& tokenizer, const nlohmann::json& vocab) {
  std::map<std::pair<std::string, std::string>, std::size_t> ranks;
  std::istringstream lines(fuzz::read_small("merges.txt"));
  const auto bytes = [&](const std::string& spelled) {
    return std::string(tokenizer.bytes(vocab.at(spelled).get<TokenId>()));
  };
  std::string left;
  std::string right;
  lines >> left >> right;  // #version: 0.2
  while (lines >> left >> right) ranks.emplace(std::pair(bytes(left), bytes(right)), ranks.size());
  return ranks;
}

// Byte pair encoding as the paper defines it: merges the pair of the word that has the best rank,
// again and again, until no pair can be merged.
std::vector<std::string> merged(
    std::string_view word,
    const std::map<std::pair<std::string, std::string>, std::size_t>& ranks) {
  std::vector<std::string> symbols;
  for (const char c : word) symbols.emplace_back(1, c);
  for (;;) {
    std::size_t best = ranks.size();
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = ranks.find({symbols[i], symbols[i + 1]});
      if (found == ranks.end() || found->second >= best) continue;
      best = found->second;
      place = i;
    }
    if (best == ranks.size()) return symbols;
    symbols[place] += symbols[place + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

// Every text must come back byte by byte. Its tokens must be those of the simplest algorithm. A
// stream that gets the text token by token must show the same as a stream that gets the whole text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tokenizer tokenizer = Tokenizer::load(fuzz::small_tokenizer());
  static const auto ranks =
      small_merges(tokenizer, nlohmann::json::parse(fuzz::read_small("vocab.json")));
  const std::string_view text = fuzz::text_of(data, size);
  require(tokenizer.decode(tokenizer.encode(text)) == text);

  const std::vector<TokenId> ids = tokenizer.encode(text, {.parse_special = false});
  require(tokenizer.decode(ids) == text);
  Utf8Stream pieces;
  std::string shown;
  for (const TokenId id : ids) shown += pieces.write(tokenizer.bytes(id));
  shown += pieces.flush();
  Utf8Stream whole;
  std::string expected(whole.write(text));
  expected += whole.flush();
  require(shown == expected);

  if (size > 1024) return 0;  // the plain algorithm is quadratic
  std::size_t next = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = first_word_length(rest);
    for (const std::string& token : merged(rest.substr(0, length), ranks)) {
      require(next < ids.size() && tokenizer.bytes(ids[next++]) == token);
    }
    rest.remove_prefix(length);
  }
  require(next == ids.size());
  return 0;
}
