#include "requests/answer/chat.h"

#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gpt2 {
namespace {

Json top_json(const Tokenizer& tokenizer, TokenId id, float logprob) {
  const std::string_view bytes = tokenizer.bytes(id);
  Json numbers = Json::array();
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return {{"token", token_text(tokenizer, id)},
          {"logprob", logprob_number(logprob)},
          {"bytes", numbers}};
}

// A part of a stream.
Json chat_chunk_json(const AnswerHead& head, std::size_t index, const Json& delta,
                     const Json& logprobs, std::optional<FinishReason> reason) {
  Json answer = head_json(head, "chat.completion.chunk");
  answer["choices"] =
      Json::array({{{"index", index},
                    {"delta", delta},
                    {"logprobs", logprobs},
                    {"finish_reason", reason ? Json(finish_reason_of(*reason)) : Json()}}});
  return answer;
}

// The log-probabilities of tokens in the form of the chat API.
Json chat_logprobs_json(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                        std::span<const TokenLogprob> scores) {
  Json content = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Json token = top_json(tokenizer, tokens[i], scores[i].logprob);
    Json& top = token["top_logprobs"] = Json::array();
    for (const auto& [id, logprob] : scores[i].top) top.push_back(top_json(tokenizer, id, logprob));
    content.push_back(std::move(token));
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
    for (const CompletionChoice& choice : prompts.front().choices) {
      const GenerationResult& result = choice.result;
      list.push_back(
          {{"index", list.size()},
           {"message",
            {{"role", "assistant"}, {"content", chat_content(choice.text)}, {"refusal", nullptr}}},
           {"logprobs", request.with_logprobs
                            ? chat_logprobs_json(tokenizer_, drawn_tokens(result), result.logprobs)
                            : Json()},
           {"finish_reason", finish_reason_of(result.finish_reason)}});
    }
    return answer_json(head_, "chat.completion", std::move(list), prompts);
  }

  [[nodiscard]] Json begin(std::size_t index, const CompletionRequest&,
                           const CompletedPrompt&) override {
    const Json delta = {{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}};
    return chat_chunk_json(head_, index, delta, nullptr, {});
  }

  [[nodiscard]] Json part(std::size_t index, const std::string& text,
                          std::span<const TokenId> tokens,
                          std::span<const TokenLogprob> scores, bool) override {
    const bool is_first = !text.empty() && begun_.insert(index).second;
    const Json logprobs = scores.empty() ? Json() : chat_logprobs_json(tokenizer_, tokens, scores);
    const Json delta = {{"content", is_first ? chat_content(text) : text}};
    return chat_chunk_json(head_, index, delta, logprobs, {});
  }

  [[nodiscard]] Json end(std::size_t index, FinishReason reason, std::size_t) override {
    return chat_chunk_json(head_, index, Json::object(), nullptr, reason);
  }

 private:
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
