#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "requests/completion.h"
#include "requests/completion_request.h"

// OpenAI's chat API, as https://platform.openai.com/docs/api-reference/chat documents it, for
// models that continue texts.

namespace gpt2 {

/// How the messages of a chat become the text that the model continues.
enum class ChatForm {
  /// As DialoGPT and its like were trained: the end-of-text token ends each message, and nothing
  /// says who wrote it. The messages of the system are left out.
  dialog,
  /// A transcript, which any model can continue: the messages of the system, and then a line for
  /// each message, "User: ..." or "Assistant: ...". The answer is the line of the assistant that
  /// follows, and ends before the next "User:".
  transcript,
};

/// Returns the request in the body, which is a JSON object, as a request with one prompt. Unless it
/// sets max_tokens or max_completion_tokens, the answer may fill the context. Throws Error as
/// read_completion_request() does.
[[nodiscard]] CompletionRequest read_chat_request(const nlohmann::json& body,
                                                  const RequestContext& context, ChatForm form);

/// Returns the body of an answer: {"id", "object", "created", "model", "choices", "usage"}.
[[nodiscard]] Json chat_json(const AnswerHead& head, const CompletionRequest& request,
                             const Tokenizer& tokenizer, const CompletedPrompt& completed);

/// Writes answers of the chat API.
[[nodiscard]] std::unique_ptr<AnswerForm> chat_form(AnswerHead head, const Tokenizer& tokenizer);

}  // namespace gpt2
