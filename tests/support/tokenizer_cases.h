#pragma once

#include <nlohmann/json.hpp>

#include "gpt2/tokenizer.h"
#include "support/test.h"

namespace gpt2::test {

/// Returns the lines of a file, each of which is a JSON value. Throws if there is no such file.
[[nodiscard]] std::vector<nlohmann::json> read_lines(const std::filesystem::path& file);

[[nodiscard]] std::string read_text(const std::filesystem::path& file);

/// Returns the path tests/data/tokenizer/`name`.
[[nodiscard]] std::filesystem::path tokenizer_data(std::string_view name);

/// Returns the folder with GPT-2's own vocab.json and merges.txt: $GPT2_TEST_VOCAB, or the folder
/// next to the repository. Returns an empty path if there is none, because these files are not part
/// of the repository.
[[nodiscard]] std::filesystem::path real_vocabulary();

/// Returns `bytes` decoded as UTF-8, in the same way as Python with errors="replace".
[[nodiscard]] std::string replaced(std::string_view bytes);

/// The numbers of comparisons made.
struct CaseCount {
  std::size_t encoded = 0;
  std::size_t decoded = 0;
};
/// Checks one case, {text, ids, decoded, bare}, and adds to the counts. `decoded` and `bare` may be
/// missing. A failure shows the text.
void check_case(const Tokenizer& tokenizer, const nlohmann::json& one, CaseCount& count);

}  // namespace gpt2::test
