#include "requests/answer/responses.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "requests/answer/chat.h"

namespace gpt2 {
namespace {

// A stream's events come in the order begin(), part() ..., end().
class ResponsesAnswer : public AnswerForm {
 public:
  ResponsesAnswer(AnswerHead head, const CompletionRequest& request)
      : head_(std::move(head)),
        temperature_(request.options.sampling.temperature),
        top_p_(request.options.sampling.top_p) {}

  [[nodiscard]] Json whole(const CompletionRequest&,
                           const std::vector<CompletedPrompt>& prompts) const override {
    const CompletedPrompt& prompt = prompts.front();
    const CompletionChoice& choice = prompt.choices.front();
    return ended(chat_content(choice.text), choice.result.finish_reason,
                 prompt.prompt.tokens.size(), prompt.completion_tokens);
  }

  [[nodiscard]] Json begin(std::size_t, const CompletionRequest&,
                           const CompletedPrompt& prompt) override {
    prompt_tokens_ = prompt.prompt.tokens.size();
    const Json response = response_of("in_progress", Json::array());
    Json events = Json::array();
    events.push_back(event("response.created", {{"response", response}}));
    events.push_back(event("response.in_progress", {{"response", response}}));
    events.push_back(
        item_event("response.output_item.added", message("in_progress", Json::array())));
    events.push_back(content_event("response.content_part.added", "part", content("")));
    return events;
  }

  [[nodiscard]] Json part(std::size_t, const std::string& text, std::span<const TokenId>,
                          std::span<const TokenLogprob>, bool) override {
    const std::string delta = text_.empty() ? chat_content(text) : text;
    text_ += text;
    return text_event("response.output_text.delta", "delta", delta);
  }

  [[nodiscard]] Json end(std::size_t, FinishReason reason, std::size_t tokens) override {
    const std::string text = chat_content(text_);
    const Json response = ended(text, reason, prompt_tokens_, tokens);
    Json events = Json::array();
    events.push_back(text_event("response.output_text.done", "text", text));
    events.push_back(content_event("response.content_part.done", "part", content(text)));
    events.push_back(item_event("response.output_item.done", response["output"][0]));
    const std::string status = response["status"];
    events.push_back(event("response." + status, {{"response", response}}));
    return events;
  }

 private:
  [[nodiscard]] static Json content(const std::string& text) {
    return {{"type", "output_text"},
            {"text", text},
            {"annotations", Json::array()},
            {"logprobs", Json::array()}};
  }

  [[nodiscard]] std::string message_id() const { return "msg_" + head_.id; }

  [[nodiscard]] Json message(const std::string& status, Json parts) const {
    return {{"type", "message"},
            {"id", message_id()},
            {"status", status},
            {"role", "assistant"},
            {"content", std::move(parts)}};
  }

  // A response without the numbers of its tokens.
  [[nodiscard]] Json response_of(const std::string& status, Json output) const {
    return {{"id", head_.id},
            {"object", "response"},
            {"created_at", head_.created},
            {"status", status},
            {"error", nullptr},
            {"incomplete_details", nullptr},
            {"model", head_.model},
            {"output", std::move(output)},
            {"parallel_tool_calls", false},
            {"store", false},
            {"temperature", short_number(temperature_)},
            {"text", {{"format", {{"type", "text"}}}}},
            {"tool_choice", "none"},
            {"tools", Json::array()},
            {"top_p", short_number(top_p_)},
            {"usage", nullptr}};
  }

  [[nodiscard]] Json ended(const std::string& text, FinishReason reason, std::size_t prompt_tokens,
                           std::size_t tokens) const {
    const bool is_complete = finish_reason_of(reason) == std::string_view("stop");
    const char* const status = is_complete ? "completed" : "incomplete";
    Json response =
        response_of(status, Json::array({message(status, Json::array({content(text)}))}));
    if (!is_complete) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
    response["usage"] = {
        {"input_tokens", prompt_tokens},
        {"input_tokens_details", {{"cached_tokens", 0}, {"cache_write_tokens", 0}}},
        {"output_tokens", tokens},
        {"output_tokens_details", {{"reasoning_tokens", 0}}},
        {"total_tokens", prompt_tokens + tokens}};
    return response;
  }

  [[nodiscard]] Json event(const std::string& type, const Json& members) {
    Json result = {{"type", type}, {"sequence_number", sequence_number_++}};
    result.update(members);
    return result;
  }

  [[nodiscard]] Json item_event(const std::string& type, const Json& item) {
    return event(type, {{"output_index", 0}, {"item", item}});
  }

  [[nodiscard]] Json content_event(const std::string& type, const char* name, const Json& value) {
    return event(
        type,
        {{"item_id", message_id()}, {"output_index", 0}, {"content_index", 0}, {name, value}});
  }

  [[nodiscard]] Json text_event(const std::string& type, const char* name,
                                const std::string& text) {
    Json result = content_event(type, name, text);
    result["logprobs"] = Json::array();
    return result;
  }

  const AnswerHead head_;
  const float temperature_;
  const float top_p_;
  std::size_t prompt_tokens_ = 0;
  std::size_t sequence_number_ = 0;
  std::string text_;  // that was sent
};

}  // namespace

std::unique_ptr<AnswerForm> responses_form(AnswerHead head, const std::optional<Tokenizer>&,
                                           const CompletionRequest& request) {
  return std::make_unique<ResponsesAnswer>(std::move(head), request);
}

}  // namespace gpt2
