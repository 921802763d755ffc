#pragma once

#include <memory>
#include <optional>

#include "requests/answer/completion.h"

// The answers of OpenAI's responses API, as
// https://platform.openai.com/docs/api-reference/responses documents them.

namespace gpt2 {

/// Writes a response with one message. The parts of a stream are OpenAI's events, whose names are
/// their "type". REQUIRES: there is a tokenizer.
[[nodiscard]] std::unique_ptr<AnswerForm> responses_form(AnswerHead head,
                                                         const std::optional<Tokenizer>& tokenizer,
                                                         const CompletionRequest& request);

}  // namespace gpt2
