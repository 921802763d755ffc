#include "serve/answer_form.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "requests/chat.h"

namespace gpt2::serve {
namespace {

class CompletionAnswer : public AnswerForm {
 public:
  CompletionAnswer(AnswerHead head, const Tokenizer& tokenizer, bool with_token_ids)
      : head_(std::move(head)), tokenizer_(tokenizer), with_token_ids_(with_token_ids) {}

  [[nodiscard]] Json whole(const CompletionRequest& request,
                           const std::vector<CompletedPrompt>& prompts) const override {
    return completion_json(head_, request, tokenizer_, prompts);
  }

  [[nodiscard]] Json begin(std::size_t index, const CompletionRequest& request,
                           const CompletedPrompt& prompt) override {
    LogprobLists& lists = lists_.try_emplace(index, tokenizer_, with_token_ids_).first->second;
    lists.begin(prompt);
    const Json logprobs = prompt.logprobs.empty() ? Json() : lists.take();
    if (!request.echo && !with_token_ids_) return nullptr;
    const std::string text = request.echo ? echo_text(tokenizer_, prompt.prompt) : "";
    return chunk(index, text, prompt.prompt.tokens, {}, logprobs);
  }

  [[nodiscard]] Json part(std::size_t index, const std::string& text,
                          std::span<const TokenId> tokens,
                          std::span<const TokenLogprob> scores) override {
    LogprobLists& lists = lists_.at(index);
    lists.append(tokens, scores);
    return chunk(index, text, {}, tokens, scores.empty() ? Json() : lists.take());
  }

  [[nodiscard]] Json end(std::size_t index, FinishReason reason) override {
    return completion_chunk_json(head_, index, "", nullptr, reason);
  }

 private:
  [[nodiscard]] Json chunk(std::size_t index, const std::string& text,
                           std::span<const TokenId> prompt, std::span<const TokenId> tokens,
                           const Json& logprobs) const {
    Json answer = completion_chunk_json(head_, index, text, logprobs, {});
    if (with_token_ids_) add_token_ids(answer["choices"][0], prompt, tokens);
    return answer;
  }

  const AnswerHead head_;
  const Tokenizer& tokenizer_;
  const bool with_token_ids_;
  std::map<std::size_t, LogprobLists> lists_;  // by choice
};

class ChatAnswer : public AnswerForm {
 public:
  ChatAnswer(AnswerHead head, const Tokenizer& tokenizer)
      : head_(std::move(head)), tokenizer_(tokenizer) {}

  [[nodiscard]] Json whole(const CompletionRequest& request,
                           const std::vector<CompletedPrompt>& prompts) const override {
    return chat_json(head_, request, tokenizer_, prompts.front());
  }

  [[nodiscard]] Json begin(std::size_t index, const CompletionRequest&,
                           const CompletedPrompt&) override {
    const Json delta = {{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}};
    return chat_chunk_json(head_, index, delta, nullptr, {});
  }

  [[nodiscard]] Json part(std::size_t index, const std::string& text,
                          std::span<const TokenId> tokens,
                          std::span<const TokenLogprob> scores) override {
    const bool is_first = !text.empty() && begun_.insert(index).second;
    const Json logprobs = scores.empty() ? Json() : chat_logprobs_json(tokenizer_, tokens, scores);
    const Json delta = {{"content", is_first ? chat_content(text) : text}};
    return chat_chunk_json(head_, index, delta, logprobs, {});
  }

  [[nodiscard]] Json end(std::size_t index, FinishReason reason) override {
    return chat_chunk_json(head_, index, Json::object(), nullptr, reason);
  }

 private:
  const AnswerHead head_;
  const Tokenizer& tokenizer_;
  std::set<std::size_t> begun_;  // the choices of which text was sent
};

}  // namespace

std::unique_ptr<AnswerForm> completion_form(AnswerHead head, const Tokenizer& tokenizer,
                                            bool with_token_ids) {
  return std::make_unique<CompletionAnswer>(std::move(head), tokenizer, with_token_ids);
}

std::unique_ptr<AnswerForm> chat_form(AnswerHead head, const Tokenizer& tokenizer) {
  return std::make_unique<ChatAnswer>(std::move(head), tokenizer);
}

}  // namespace gpt2::serve
