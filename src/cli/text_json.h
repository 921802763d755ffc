#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/generate_settings.h"
#include "cli/prompt.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// Returns the line that --json writes for a text: an object, and a newline. `text` is the
/// continuation, and `sequence` is the SamplingOptions::sequence that it was drawn with. Without a
/// tokenizer, there are no texts in the object. Bytes of the prompt and of
/// single tokens that are not UTF-8 become U+FFFD, because JSON cannot hold them.
[[nodiscard]] std::string text_json(const GenerateSettings& settings,
                                    const std::optional<Tokenizer>& tokenizer, const Prompt& prompt,
                                    std::uint64_t sequence, const std::string& text,
                                    const GenerationResult& result, std::optional<double> score);

}  // namespace gpt2::cli
