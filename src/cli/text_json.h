#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/generate_settings.h"
#include "cli/prompt.h"
#include "cli/records.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// Returns the line that --json writes for a text: an object, and a newline. `text` is the
/// continuation, and `sequence` is the SamplingOptions::sequence with which it was drawn. Without a
/// tokenizer, the object has no texts. Bytes of the prompt and of single tokens that are not UTF-8
/// become U+FFFD, because JSON cannot represent them.
[[nodiscard]] std::string text_json(const GenerateSettings& settings,
                                    const std::optional<Tokenizer>& tokenizer, const Prompt& prompt,
                                    std::uint64_t sequence, const std::string& text,
                                    const GenerationResult& result, std::optional<double> score);

/// The members at the beginning of the record that `gpt2 batch` writes for a text.
struct RecordHead {
  std::size_t line = 0;  ///< the number of the line in the input, from 0
  std::string id = {};   ///< identifies the line and everything else that decides the text
  std::optional<std::string> custom_id = {};
  std::size_t sample = 0;      ///< which of the line's texts this is
  std::size_t samples = 1;     ///< how many texts the line has
  std::size_t lost_bytes = 0;  ///< bytes of the prompt for which the vocabulary has no tokens
  std::size_t truncated = 0;   ///< tokens at the prompt's beginning that were left out
};

/// The first bytes of every record of a line: its number and its id.
[[nodiscard]] std::string record_begin(std::size_t line, const std::string& id);

/// The first bytes of every record with an error: record_begin(), "error" and a colon.
[[nodiscard]] std::string error_record_begin(std::size_t line, const std::string& id);

/// Returns the record of a text, with its newline.
[[nodiscard]] std::string record_json(const RecordHead& head,
                                      const std::optional<Tokenizer>& tokenizer,
                                      std::uint64_t sequence, const std::string& text,
                                      const GenerationResult& result);

/// Returns the record of a line that was scored, with its newline.
[[nodiscard]] std::string score_record_json(const RecordHead& head, const Json& scores);

/// Returns the record for a text that could not be written, with the error message and a newline.
[[nodiscard]] std::string error_record_json(const RecordHead& head, const std::string& error);

}  // namespace gpt2::cli
