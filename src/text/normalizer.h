#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/encoding.h"

namespace gpt2 {

/// One step of a normalizer. Appends to `out` what takes the place of the characters that begin at
/// `at`, which is below text.size(), and returns the number of their bytes, which is above 0.
using Rewrite = std::function<std::size_t(std::string_view text, std::size_t at, std::string& out)>;

/// Writes `prefix` and the rewritten text to `buffer`, and returns a view of it. Without a
/// `rewrite`, copies the text. REQUIRES: `buffer` does not own the text.
TextView rewrite_text(const TextView& text, std::string_view prefix, const Rewrite& rewrite,
                      bool with_origins, TextBuffer& buffer);

/// Returns a step that replaces every `pattern` with `content`. REQUIRES: the pattern is not empty.
[[nodiscard]] Rewrite replacing(std::string pattern, std::string content);

/// The settings of BERT's normalizer, whose defaults are those of HuggingFace's BertTokenizer.
struct BertNormalizer {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  std::optional<bool> strip_accents = std::nullopt;  ///< if absent, as `lowercase`
  bool lowercase = true;

  void append_to(std::vector<Rewrite>& steps) const;
};

/// Reads the settings of a BertNormalizer. Throws Error(invalid_file).
[[nodiscard]] BertNormalizer read_bert_normalizer(const JsonFields& fields);

/// Returns the text after these steps, in one of the buffers. The text itself may be in neither.
TextView normalize(TextView text, std::span<const Rewrite> steps, bool with_origins,
                   std::array<TextBuffer, 2>& buffers);

/// A type of the steps of a tokenizer.json, but for Sequence. `add` reads such a step and adds it
/// to the steps before it. Throws Error: invalid_file, or unsupported.
template <class Steps>
struct StepKind {
  const char* type;
  void (*add)(const JsonFields& fields, Steps& steps);
};

/// The types of the steps of a normalizer.
[[nodiscard]] std::span<const StepKind<std::vector<Rewrite>>> normalizer_kinds();

}  // namespace gpt2
