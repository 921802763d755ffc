#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "requests/completion.h"
#include "requests/completion_request.h"

// OpenAI's chat API, as https://platform.openai.com/docs/api-reference/chat documents it, for
// models that continue texts.

namespace gpt2 {

enum class ChatRole { system, user, assistant };

struct ChatMessage {
  ChatRole role;
  std::string content;
};

/// Returns a request with the context's defaults and no prompt yet.
[[nodiscard]] CompletionRequest begin_chat(const RequestContext& context);

/// Reads the member `name`, a list of messages. The types of the parts of a message may be `types`.
[[nodiscard]] std::vector<ChatMessage> read_messages(Members& body, const char* name,
                                                     std::span<const std::string_view> types);

/// Adds the prompt that the messages become, and reads the limits of the answer, which `max_tokens`
/// names. Throws Error for other members that nobody has read. context.prompt_name is what the
/// messages are called. To be called last.
void add_chat(CompletionRequest& request, Members& members,
              const std::vector<ChatMessage>& messages, const RequestContext& context,
              const char* max_tokens);

/// Throws Error for the members of a chat that a model which continues texts cannot obey.
void refuse_tools(Members& members);

/// Throws Error unless the value, the member `name`, is {"type": "text"} or null.
void check_text_format(Members& members, const char* name);

/// Returns the text of an answer without the space between "Assistant:" and its first word.
[[nodiscard]] std::string chat_content(const std::string& text);

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
