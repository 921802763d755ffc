#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/tokenizer.h"

namespace gpt2::test {

/// The lines of a file, each a JSON value. Throws where there is no such file.
[[nodiscard]] std::vector<nlohmann::json> read_lines(const std::filesystem::path& file);

[[nodiscard]] std::string read_text(const std::filesystem::path& file);

/// tests/data/tokenizer/NAME
[[nodiscard]] std::filesystem::path tokenizer_data(std::string_view name);

/// GPT-2's own vocab.json and merges.txt, in a folder: $GPT2_TEST_VOCAB, or the one beside the
/// repository. Empty where there is none: they are not part of it.
[[nodiscard]] std::filesystem::path real_vocabulary();

/// `bytes` as Python's errors="replace" decodes them.
[[nodiscard]] std::string replaced(std::string_view bytes);

/// A case is {text, ids, decoded, bare}: the last two may be missing. Checks each and adds to the
/// counts; a failure shows its text.
struct CaseCount {
  std::size_t encoded = 0;
  std::size_t decoded = 0;
};
void check_case(const Tokenizer& tokenizer, const nlohmann::json& one, CaseCount& count);

}  // namespace gpt2::test
