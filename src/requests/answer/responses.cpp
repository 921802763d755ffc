#include <utility>

#include "requests/answer/completion.h"

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
    const FinishReason reason = choice.result.finish_reason;
    return ended(reason,
                 message(status_of(reason), Json::array({content(chat_content(choice.text))})),
                 prompt.prompt.tokens.size(), prompt.completion_tokens);
  }

  [[nodiscard]] std::vector<Json> begin(std::size_t, const CompletionRequest&,
                                        const CompletedPrompt& prompt) override {
    prompt_tokens_ = prompt.prompt.tokens.size();
    const Json response = response_of("in_progress", Json::array());
    return {event("response.created", {{"response", response}}),
            event("response.in_progress", {{"response", response}}),
            item_event("response.output_item.added", message("in_progress", Json::array())),
            content_event("response.content_part.added", "part", content(""))};
  }

  [[nodiscard]] std::vector<Json> part(std::size_t, const std::string& text,
                                       std::span<const TokenId>, std::span<const TokenLogprob>,
                                       bool) override {
    const std::string delta = text_.empty() ? chat_content(text) : text;
    text_ += text;
    return {text_event("response.output_text.delta", "delta", delta)};
  }

  [[nodiscard]] std::vector<Json> end(std::size_t, FinishReason reason,
                                      std::size_t tokens) override {
    const std::string text = chat_content(text_);
    const Json item = message(status_of(reason), Json::array({content(text)}));
    const Json response = ended(reason, item, prompt_tokens_, tokens);
    return {text_event("response.output_text.done", "text", text),
            content_event("response.content_part.done", "part", content(text)),
            item_event("response.output_item.done", item),
            event(concat("response.", status_of(reason)), {{"response", response}})};
  }

 private:
  [[nodiscard]] static Json content(const std::string& text) {
    return {{"type", "output_text"},
            {"text", text},
            {"annotations", Json::array()},
            {"logprobs", Json::array()}};
  }

  [[nodiscard]] static const char* status_of(FinishReason reason) {
    return finish_reason_of(reason) == std::string_view("stop") ? "completed" : "incomplete";
  }

  [[nodiscard]] std::string message_id() const { return "msg_" + head_.id; }

  [[nodiscard]] Json message(const std::string& status, const Json& parts) const {
    return {{"type", "message"},
            {"id", message_id()},
            {"status", status},
            {"role", "assistant"},
            {"content", parts}};
  }

  [[nodiscard]] Json response_of(const std::string& status, const Json& output,
                                 const Json& incomplete = nullptr,
                                 const Json& usage = nullptr) const {
    Json response = Json::object();
    if (head_.shows_id) response.add("id", head_.id);
    response.add({{"object", "response"},
                  {"created_at", head_.created},
                  {"status", status},
                  {"error", nullptr},
                  {"incomplete_details", incomplete},
                  {"model", head_.model},
                  {"output", output},
                  {"parallel_tool_calls", false},
                  {"store", false},
                  {"temperature", temperature_},
                  {"text", {{"format", {{"type", "text"}}}}},
                  {"tool_choice", "none"},
                  {"tools", Json::array()},
                  {"top_p", top_p_},
                  {"usage", usage}});
    return response;
  }

  [[nodiscard]] Json ended(FinishReason reason, const Json& item, std::size_t prompt_tokens,
                           std::size_t tokens) const {
    const std::string status = status_of(reason);
    const Json usage = {{"input_tokens", prompt_tokens},
                        {"input_tokens_details", {{"cached_tokens", 0}, {"cache_write_tokens", 0}}},
                        {"output_tokens", tokens},
                        {"output_tokens_details", {{"reasoning_tokens", 0}}},
                        {"total_tokens", prompt_tokens + tokens}};
    const Json incomplete = status == "completed" ? Json() : Json{{"reason", "max_output_tokens"}};
    return response_of(status, Json::array({item}), incomplete, usage);
  }

  [[nodiscard]] Json event(const std::string& type, Json::Members members) {
    Json result = {{"type", type}, {"sequence_number", sequence_number_++}};
    result.add(members);
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
    result.add("logprobs", Json::array());
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
