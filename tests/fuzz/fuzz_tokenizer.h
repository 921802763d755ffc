#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "gpt2/tokenizer.h"
#include "support/temporary_directory.h"

namespace gpt2::fuzz {

/// A text with characters of every class, invalid UTF-8, and both kinds of added tokens.
constexpr std::string_view kText =
    "The ab's  12 \n\t\u00e9\u4e2d\U0001f600 \xff\xe4\xb8<|endoftext|> [x] a_b<s>";

/// Encodes and decodes kText. If `is_lossless`, all bytes must come back.
inline void use(const Tokenizer& tokenizer, bool is_lossless) {
  for (const bool parse_special : {true, false}) {
    const std::vector<TokenId> ids = tokenizer.encode(kText, {.parse_special = parse_special});
    if (is_lossless && tokenizer.decode(ids) != kText) __builtin_trap();
    const auto [same_ids, ranges, lost] =
        tokenizer.encode_text(kText, {.parse_special = parse_special, .with_ranges = true});
    if (same_ids != ids) __builtin_trap();
    if (ranges.size() != ids.size()) __builtin_trap();
    for (const auto& [begin, end] : ranges) {
      if (begin > end || end > kText.size()) __builtin_trap();
    }
  }
  if (const auto end = tokenizer.end_of_text()) {
    if (*end < 0 || static_cast<std::size_t>(*end) >= tokenizer.size()) __builtin_trap();
  }
  const auto size = static_cast<TokenId>(tokenizer.size());
  for (TokenId id = size - 1; id >= 0 && id > size - 100; --id) {
    touch(std::as_bytes(std::span(tokenizer.bytes(id))));
  }
}

/// Returns whether every byte has a token.
inline bool is_complete(const Tokenizer& tokenizer) {
  return tokenizer.description().find("none for") == std::string::npos;
}

/// Returns the folder of a small tokenizer that has a token for every byte.
inline std::filesystem::path small_tokenizer() {
  return std::filesystem::path(GPT2_TEST_DATA) / "tokenizer" / "small";
}

inline std::string read_small(const char* name) {
  std::ifstream file(small_tokenizer() / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace gpt2::fuzz
