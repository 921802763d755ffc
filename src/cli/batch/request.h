#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include "cli/batch/settings.h"
#include "cli/lines/reader.h"
#include "gpt2/generate.h"
#include "requests/completion_request.h"
#include "requests/scoring.h"

namespace gpt2::cli {

/// A request: the contents of a line of the input.
struct BatchRequest {
  std::optional<std::string> custom_id = {};
  std::optional<ScoringRequest> scoring = {};  ///< set if the line is to be scored, not continued
  CompletionRequest completion = {};           ///< several prompts only with --format openai
  std::exception_ptr error = {};               ///< an Error if the line is invalid
};

/// Reads a line: with --lines, the line is the prompt; otherwise, it is a JSON object with a prompt
/// and options by HuggingFace's names, a request in OpenAI's batch format, or an object with a text
/// or choices to score. `defaults` has the options that the line does not set. An invalid line
/// becomes a request with an error.
[[nodiscard]] BatchRequest read_request(const Line& line, const BatchSettings& settings,
                                        const GenerationOptions& defaults,
                                        const std::optional<Tokenizer>& tokenizer,
                                        const Config& config);

}  // namespace gpt2::cli
