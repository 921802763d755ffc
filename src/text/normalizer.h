#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "gpt2/tokenizer.h"

namespace gpt2 {

/// A part of a text on its way from the caller to the model of a tokenizer.
struct TextView {
  std::string_view text;
  /// The range of the caller's text for each byte. If nullptr, the bytes are the caller's own, and
  /// the first of them is at `begin`; or nobody asks for ranges.
  const TextRange* origins = nullptr;
  std::size_t begin = 0;  ///< 0 only if the part is at the beginning of the caller's text

  /// Returns a part of this. REQUIRES: `part` is within `text`.
  [[nodiscard]] TextView part(std::string_view part) const noexcept;

  /// Returns the range of the caller's text for the bytes from `first` to `last`.
  [[nodiscard]] TextRange range(std::size_t first, std::size_t last) const noexcept;
};

/// A text that was rewritten. Has origins if they are asked for.
struct TextBuffer {
  std::string text;
  std::vector<TextRange> origins;
};

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

/// Appends the steps of a normalizer of a tokenizer.json, which is not a Sequence. Throws Error:
/// invalid_file, or unsupported for another kind.
void append_normalizer(const JsonFields& fields, std::vector<Rewrite>& steps);

/// Reads the settings of a BertNormalizer. Throws Error(invalid_file).
[[nodiscard]] BertNormalizer read_bert_normalizer(const JsonFields& fields);

}  // namespace gpt2
