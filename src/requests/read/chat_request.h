#pragma once

#include <nlohmann/json_fwd.hpp>

#include "requests/read/completion_request.h"

// Requests to OpenAI's chat API, as https://platform.openai.com/docs/api-reference/chat documents
// it, and to its responses API (https://platform.openai.com/docs/api-reference/responses), for
// models that continue texts. Nothing is stored.

namespace gpt2 {

/// Returns the request in the body, which is a JSON object, as a request with one prompt. Unless it
/// or the defaults limit the answer, that may fill the context. Throws RequestError as
/// read_completion_request() does.
[[nodiscard]] CompletionRequest read_chat_request(const nlohmann::json& body,
                                                  const RequestContext& context);

/// The same for a request to the responses API.
[[nodiscard]] CompletionRequest read_responses_request(const nlohmann::json& body,
                                                       const RequestContext& context);

}  // namespace gpt2
