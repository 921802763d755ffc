#include <set>
#include <utility>

#include "requests/answer/completion.h"

namespace gpt2 {
namespace {

Json top_json(const Tokenizer& tokenizer, TokenId id, float logprob) {
  Json numbers = Json::array();
  for (const char byte : tokenizer.bytes(id)) numbers.push_back(static_cast<unsigned char>(byte));
  return {{"token", token_text(tokenizer, id)}, {"logprob", logprob}, {"bytes", numbers}};
}

// The log-probabilities of tokens in the form of the chat API.
Json chat_logprobs_json(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                        std::span<const TokenLogprob> scores) {
  Json content = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Json token = top_json(tokenizer, tokens[i], scores[i].logprob);
    Json top = Json::array();
    for (const auto& [id, logprob] : scores[i].top) top.push_back(top_json(tokenizer, id, logprob));
    token.add("top_logprobs", top);
    content.push_back(token);
  }
  return {{"content", content}, {"refusal", nullptr}};
}

class ChatAnswer : public AnswerForm {
 public:
  ChatAnswer(AnswerHead head, Tokenizer tokenizer)
      : head_(std::move(head)), tokenizer_(std::move(tokenizer)) {}

  [[nodiscard]] Json whole(const CompletionRequest& request,
                           const std::vector<CompletedPrompt>& prompts) const override {
    Json list = Json::array();
    std::size_t index = 0;
    for (const CompletionChoice& choice : prompts.front().choices) {
      const GenerationResult& result = choice.result;
      list.push_back(Json{
          {"index", index++},
          {"message",
           {{"role", "assistant"}, {"content", chat_content(choice.text)}, {"refusal", nullptr}}},
          {"logprobs", request.with_logprobs
                           ? chat_logprobs_json(tokenizer_, drawn_tokens(result), result.logprobs)
                           : Json()},
          {"finish_reason", finish_reason_of(result.finish_reason)}});
    }
    return answer_json(head_, "chat.completion", list, prompts);
  }

  [[nodiscard]] std::vector<Json> begin(std::size_t index, const CompletionRequest&,
                                        const CompletedPrompt&) override {
    return {chunk(index, {{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}})};
  }

  [[nodiscard]] std::vector<Json> part(std::size_t index, const std::string& text,
                                       std::span<const TokenId> tokens,
                                       std::span<const TokenLogprob> scores, bool) override {
    const bool is_first = !text.empty() && begun_.insert(index).second;
    const Json logprobs = scores.empty() ? Json() : chat_logprobs_json(tokenizer_, tokens, scores);
    return {chunk(index, {{"content", is_first ? chat_content(text) : text}}, logprobs)};
  }

  [[nodiscard]] std::vector<Json> end(std::size_t index, FinishReason reason,
                                      std::size_t) override {
    return {chunk(index, Json::object(), nullptr, finish_reason_of(reason))};
  }

  [[nodiscard]] Json usage(std::span<const CompletedPrompt> prompts) const override {
    return answer_json(head_, kChunk, Json::array(), prompts);
  }

 private:
  // Returns a part of a stream. The last part of a choice has a reason why it ended.
  [[nodiscard]] Json chunk(std::size_t index, const Json& delta, const Json& logprobs = nullptr,
                           const Json& reason = nullptr) const {
    Json answer = head_json(head_, kChunk);
    answer.add("choices", Json::array({{{"index", index},
                                        {"delta", delta},
                                        {"logprobs", logprobs},
                                        {"finish_reason", reason}}}));
    return answer;
  }

  static constexpr const char* kChunk = "chat.completion.chunk";
  const AnswerHead head_;
  const Tokenizer tokenizer_;
  std::set<std::size_t> begun_;  // the choices of which text was sent
};

}  // namespace

std::string chat_content(const std::string& text) {
  return text.starts_with(' ') ? text.substr(1) : text;
}

std::unique_ptr<AnswerForm> chat_form(AnswerHead head, const std::optional<Tokenizer>& tokenizer,
                                      const CompletionRequest&) {
  return std::make_unique<ChatAnswer>(std::move(head), *tokenizer);
}

}  // namespace gpt2
