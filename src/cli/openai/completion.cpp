#include "cli/openai/completion.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/utf8.h"
#include "cli/terminal/console.h"
#include "gpt2/score.h"

namespace gpt2::cli {
namespace {

// The text of a token. A token that is not UTF-8, because it is a part of a character, is
// "bytes:\xf0\x9f".
std::string token_text(std::string_view bytes) {
  if (valid_utf8_prefix(bytes) == bytes.size()) return std::string(bytes);
  std::string text = "bytes:";
  for (const char byte : bytes) text += format("\\x%02x", static_cast<unsigned char>(byte));
  return text;
}

// The number of characters that begin in these bytes.
std::size_t count_characters(std::string_view bytes) {
  std::size_t count = 0;
  for (const char byte : bytes) count += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  return count;
}

Json number_json(float logprob) {
  return std::isnan(logprob) ? Json() : Json(short_number(logprob));
}

// The likeliest tokens and the token itself, by their texts.
Json top_json(const Tokenizer& tokenizer, TokenId id, const TokenLogprob& score) {
  if (score.top.empty()) return nullptr;
  Json top = Json::object();
  for (const auto& [other, logprob] : score.top) {
    top.emplace(token_text(tokenizer.bytes(other)), number_json(logprob));
  }
  top.emplace(token_text(tokenizer.bytes(id)), number_json(score.logprob));
  return top;
}

// The lists of a choice's "logprobs".
class Logprobs {
 public:
  explicit Logprobs(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void skip(std::span<const TokenId> tokens) {
    for (const TokenId id : tokens) offset_ += count_characters(tokenizer_.bytes(id));
  }

  void append(std::span<const TokenId> tokens, std::span<const TokenLogprob> scores) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const auto bytes = tokenizer_.bytes(tokens[i]);
      lists_["tokens"].push_back(token_text(bytes));
      lists_["token_logprobs"].push_back(number_json(scores[i].logprob));
      lists_["top_logprobs"].push_back(top_json(tokenizer_, tokens[i], scores[i]));
      lists_["text_offset"].push_back(offset_);
      offset_ += count_characters(bytes);
    }
  }

  [[nodiscard]] const Json& lists() const noexcept { return lists_; }

 private:
  const Tokenizer& tokenizer_;
  std::size_t offset_ = 0;  // in characters, from the beginning of the prompt
  Json lists_ = {{"tokens", Json::array()},
                 {"token_logprobs", Json::array()},
                 {"top_logprobs", Json::array()},
                 {"text_offset", Json::array()}};
};

Json logprobs_of(const Tokenizer& tokenizer, const CompletionChoice& choice) {
  if (choice.result.logprobs.empty() && choice.prompt_logprobs.empty()) return nullptr;
  Logprobs logprobs(tokenizer);
  if (choice.prompt_logprobs.empty()) {
    logprobs.skip(choice.prompt);
  } else {
    logprobs.append(choice.prompt, choice.prompt_logprobs);
  }
  logprobs.append(choice.result.tokens, choice.result.logprobs);
  return logprobs.lists();
}

const char* finish_reason_of(FinishReason reason) {
  return reason == FinishReason::end_of_text || reason == FinishReason::stop_string ? "stop"
                                                                                    : "length";
}

}  // namespace

std::vector<TokenLogprob> prompt_logprobs(const Engine& engine, const std::vector<TokenId>& prompt,
                                          std::size_t top) {
  std::vector<TokenLogprob> logprobs = {{std::numeric_limits<float>::quiet_NaN(), 0, {}}};
  if (prompt.size() < 2) return logprobs;
  const auto scores = score(engine, {&prompt, 1}, {.top_logprobs = top});
  return scores.front().tokens;
}

Json completion_json(const std::string& id, const std::string& model, const Tokenizer& tokenizer,
                     const std::vector<CompletionChoice>& choices, std::size_t n) {
  Json list = Json::array();
  std::size_t prompt_tokens = 0, completion_tokens = 0;
  for (const CompletionChoice& choice : choices) {
    const std::string begin = choice.echo ? tokenizer.decode(choice.prompt) : "";
    if (list.size() % n == 0) prompt_tokens += choice.prompt.size();
    completion_tokens += choice.result.tokens.size();
    list.push_back({{"text", begin + choice.text},
                    {"index", list.size()},
                    {"logprobs", logprobs_of(tokenizer, choice)},
                    {"finish_reason", finish_reason_of(choice.result.finish_reason)}});
  }
  return {{"id", id},
          {"object", "text_completion"},
          {"created", 0},
          {"model", model},
          {"choices", list},
          {"usage",
           {{"prompt_tokens", prompt_tokens},
            {"completion_tokens", completion_tokens},
            {"total_tokens", prompt_tokens + completion_tokens}}}};
}

Json completion_error_json(const std::string& message) {
  return {{"error",
           {{"message", message},
            {"type", "invalid_request_error"},
            {"param", nullptr},
            {"code", nullptr}}}};
}

}  // namespace gpt2::cli
