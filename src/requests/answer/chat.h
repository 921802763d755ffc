#pragma once

#include <memory>
#include <optional>
#include <string>

#include "requests/answer/completion.h"

// The answers of OpenAI's chat API, as https://platform.openai.com/docs/api-reference/chat
// documents them, and of its responses API
// (https://platform.openai.com/docs/api-reference/responses).

namespace gpt2 {

/// Returns the text of an answer without the space between "Assistant:" and its first word.
[[nodiscard]] std::string chat_content(const std::string& text);

/// Writes {"id", "object", "created", "model", "choices", "usage"}. REQUIRES: there is a tokenizer.
[[nodiscard]] std::unique_ptr<AnswerForm> chat_form(AnswerHead head,
                                                    const std::optional<Tokenizer>& tokenizer,
                                                    const CompletionRequest& request);

/// Writes a response with one message. The parts of a stream are OpenAI's events, whose names are
/// their "type". REQUIRES: there is a tokenizer.
[[nodiscard]] std::unique_ptr<AnswerForm> responses_form(AnswerHead head,
                                                         const std::optional<Tokenizer>& tokenizer,
                                                         const CompletionRequest& request);

}  // namespace gpt2
