#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "requests/completion.h"
#include "requests/completion_request.h"

// OpenAI's responses API, as https://platform.openai.com/docs/api-reference/responses documents it,
// for models that continue texts. The input is a chat, and nothing is stored.

namespace gpt2 {

/// Returns the request in the body, which is a JSON object, as a request with one prompt. Throws
/// Error as read_chat_request() does.
[[nodiscard]] CompletionRequest read_responses_request(const nlohmann::json& body,
                                                       const RequestContext& context);

/// Writes a response with one message. The parts of a stream are OpenAI's events, whose names are
/// their "type". REQUIRES: there is a tokenizer.
[[nodiscard]] std::unique_ptr<AnswerForm> responses_form(AnswerHead head,
                                                         const std::optional<Tokenizer>& tokenizer,
                                                         const CompletionRequest& request);

}  // namespace gpt2
