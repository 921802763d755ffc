#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/batch_settings.h"
#include "cli/line_reader.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// The max of "logprobs" of a line, so that the results that wait to be written stay small.
inline constexpr std::size_t kMaxLogprobs = 100;

/// What a line of the input asks for.
struct BatchRequest {
  std::optional<std::string> custom_id = {};
  std::vector<TokenId> prompt = {};
  GenerationOptions options = {};
  std::size_t samples = 1;                ///< how many texts to write
  std::size_t lost_bytes = 0;             ///< of the prompt, which the vocabulary has no tokens for
  std::size_t truncated = 0;              ///< tokens at the prompt's beginning that were left out
  std::optional<std::string> error = {};  ///< what is wrong with the line
};

/// Reads a line: the prompt itself with --lines, and otherwise a JSON object, which has a prompt
/// and options by HuggingFace's names, or is a request of OpenAI's batch format. `defaults` are the
/// options that it leaves open. A line that is wrong gives a request with an error.
[[nodiscard]] BatchRequest read_request(const Line& line, const BatchSettings& settings,
                                        const GenerationOptions& defaults,
                                        const std::optional<Tokenizer>& tokenizer,
                                        const Config& config);

}  // namespace gpt2::cli
