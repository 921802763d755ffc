#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "requests/completion.h"
#include "requests/completion_request.h"

// OpenAI's chat API, as https://platform.openai.com/docs/api-reference/chat documents it, for
// models that continue texts.

namespace gpt2 {

/// Returns the request in the body, which is a JSON object, as a request with one prompt. Unless it
/// sets max_tokens or max_completion_tokens, the answer may fill the context. Throws Error as
/// read_completion_request() does.
[[nodiscard]] CompletionRequest read_chat_request(const nlohmann::json& body,
                                                  const RequestContext& context);

/// Writes {"id", "object", "created", "model", "choices", "usage"}. REQUIRES: there is a tokenizer.
[[nodiscard]] std::unique_ptr<AnswerForm> chat_form(AnswerHead head,
                                                    const std::optional<Tokenizer>& tokenizer,
                                                    const CompletionRequest& request);

}  // namespace gpt2
