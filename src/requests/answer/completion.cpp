#include "requests/answer/completion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/fail.h"
#include "base/utf8.h"
#include "requests/read/members.h"
#include "requests/read/options.h"

namespace gpt2 {
namespace {

// Returns what `value` makes of the likeliest tokens and of the token itself, by their texts. Of
// tokens with the same text, the first one counts.
template <class Value>
Json top_json(const Tokenizer& tokenizer, TokenId id, const TokenLogprob& score,
              const Value& value) {
  if (score.top.empty()) return nullptr;
  Json top = Json::object();
  std::set<std::string> texts;
  const auto add = [&](TokenId token, float logprob) {
    const std::string text = token_text(tokenizer, token);
    if (texts.insert(text).second) top.add(text, value(token, logprob));
  };
  for (const auto& [other, logprob] : score.top) add(other, logprob);
  add(id, score.logprob);
  return top;
}

// The lists of a choice's "logprobs", to which tokens are appended in order.
class LogprobLists {
 public:
  LogprobLists(const Tokenizer& tokenizer, const CompletionRequest& request)
      : tokenizer_(tokenizer),
        text_(tokenizer),
        skip_special_tokens_(request.options.skip_special_tokens),
        with_token_ids_(request.with_token_ids),
        with_top_(request.options.top_logprobs.value_or(0) > 0) {
    clear();
  }

  // Counts the characters of the prompt, of which an empty prompt has none. If the prompt has
  // log-probabilities, appends its tokens.
  void begin(const CompletedPrompt& prompt);

  // Appends one new token for each score.
  void append(std::span<const TokenId> tokens, std::span<const TokenLogprob> scores);

  // Returns {"tokens", "token_logprobs", "top_logprobs", "text_offset"}, and empties the lists.
  // With token ids, there is also "top_token_ids": the texts of "top_logprobs" with their ids.
  [[nodiscard]] Json take();

 private:
  void clear() { tokens_ = logprobs_ = top_ = offsets_ = top_ids_ = Json::array(); }
  void append_row(TokenId token, const TokenLogprob& score, std::size_t place);
  std::size_t skip(TokenId token);

  const Tokenizer& tokenizer_;
  Detokenizer text_;
  const bool skip_special_tokens_;
  const bool with_token_ids_;
  const bool with_top_;     // whether there are likeliest tokens
  std::size_t offset_ = 0;  // in characters, from the beginning of the prompt
  std::string last_ = {};   // the bytes so far of the last character
  Json tokens_, logprobs_, top_, offsets_, top_ids_;
};

void LogprobLists::begin(const CompletedPrompt& prompt) {
  const std::vector<TokenId>& tokens = prompt.prompt.tokens;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t place = prompt.prompt.is_empty ? 0 : skip(tokens[i]);
    if (!prompt.logprobs.empty()) append_row(tokens[i], prompt.logprobs[i], place);
  }
  last_.clear();  // the new text is decoded separately
  text_ = Detokenizer(tokenizer_, tokens);
}

void LogprobLists::append(std::span<const TokenId> tokens, std::span<const TokenLogprob> scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool is_hidden = skip_special_tokens_ && tokenizer_.is_special(tokens[i]);
    const std::size_t place = is_hidden ? offset_ : skip(tokens[i]);
    append_row(tokens[i], scores[i], place);
  }
}

// Returns the place of the character that the first byte of the token belongs to. In the text, one
// U+FFFD stands for each maximal part that is not UTF-8. Such a part, like a character, may be
// spread over several tokens.
std::size_t LogprobLists::skip(TokenId token) {
  std::optional<std::size_t> place;
  for (const char byte : text_.write(token)) {
    last_ += byte;
    if (decode_utf8(last_).length < last_.size()) last_ = byte;  // the byte begins a character
    offset_ += last_.size() == 1;
    if (!place) place = offset_ - 1;
  }
  return place.value_or(offset_);
}

void LogprobLists::append_row(TokenId token, const TokenLogprob& score, std::size_t place) {
  tokens_.push_back(token_text(tokenizer_, token));
  logprobs_.push_back(score.logprob);
  if (with_top_) {
    top_.push_back(
        top_json(tokenizer_, token, score, [](TokenId, float logprob) { return Json(logprob); }));
  }
  offsets_.push_back(place);
  if (with_token_ids_) {
    top_ids_.push_back(
        top_json(tokenizer_, token, score, [](TokenId id, float) { return Json(id); }));
  }
}

Json LogprobLists::take() {
  Json lists = {{"tokens", tokens_},
                {"token_logprobs", logprobs_},
                {"top_logprobs", with_top_ ? top_ : Json()},
                {"text_offset", offsets_}};
  if (with_token_ids_) lists.add("top_token_ids", top_ids_);
  clear();
  return lists;
}

Json logprobs_of(const Tokenizer& tokenizer, const CompletionRequest& request,
                 const CompletedPrompt& prompt, const CompletionChoice& choice) {
  if (!request.with_logprobs) return nullptr;
  LogprobLists lists(tokenizer, request);
  lists.begin(prompt);
  lists.append(drawn_tokens(choice.result), choice.result.logprobs);
  return lists.take();
}

// A text without tokens has no mean. It comes last, because 0 would be better than any mean.
double mean_logprob(const CompletionChoice& choice) {
  const std::vector<TokenLogprob>& scores = choice.result.logprobs;
  if (scores.empty()) return -std::numeric_limits<double>::infinity();
  double sum = 0.0;
  for (const TokenLogprob& score : scores) sum += score.logprob;
  return sum / static_cast<double>(scores.size());
}

Json choice_json(const std::string& text, std::size_t index, const Json& logprobs,
                 const Json& reason) {
  return {{"text", text}, {"index", index}, {"logprobs", logprobs}, {"finish_reason", reason}};
}

// Adds the ids of tokens to a choice of an answer, by the names that vLLM gives them.
void add_token_ids(Json& choice, std::span<const TokenId> prompt, std::span<const TokenId> tokens) {
  if (!prompt.empty()) choice.add("prompt_token_ids", prompt);
  choice.add("token_ids", tokens);
}

// The text that precedes a choice because of `echo`.
std::string echo_text(const Tokenizer& tokenizer, const CompletionPrompt& prompt) {
  return prompt.is_empty ? "" : tokenizer.decode(prompt.tokens);
}

class CompletionAnswer : public AnswerForm {
 public:
  CompletionAnswer(AnswerHead head, Tokenizer tokenizer, bool with_token_ids)
      : head_(std::move(head)), tokenizer_(std::move(tokenizer)), with_token_ids_(with_token_ids) {}

  [[nodiscard]] Json whole(const CompletionRequest& request,
                           const std::vector<CompletedPrompt>& prompts) const override {
    Json list = Json::array();
    std::size_t index = 0;
    for (const CompletedPrompt& prompt : prompts) {
      const std::string begin = request.echo ? echo_text(tokenizer_, prompt.prompt) : "";
      for (const CompletionChoice& choice : prompt.choices) {
        const Json logprobs = logprobs_of(tokenizer_, request, prompt, choice);
        Json one = choice_json(begin + choice.text, index++, logprobs,
                               finish_reason_of(choice.result.finish_reason));
        if (with_token_ids_) add_token_ids(one, prompt.prompt.tokens, choice.result.tokens);
        list.push_back(one);
      }
    }
    return answer_json(head_, kObject, list, prompts);
  }

  [[nodiscard]] std::vector<Json> begin(std::size_t index, const CompletionRequest& request,
                                        const CompletedPrompt& prompt) override {
    LogprobLists& lists = lists_.try_emplace(index, tokenizer_, request).first->second;
    lists.begin(prompt);
    const Json logprobs = prompt.logprobs.empty() ? Json() : lists.take();
    if (!request.echo && !with_token_ids_) return {};
    const std::string text = request.echo ? echo_text(tokenizer_, prompt.prompt) : "";
    return {chunk(index, text, prompt.prompt.tokens, {}, logprobs)};
  }

  [[nodiscard]] std::vector<Json> part(std::size_t index, const std::string& text,
                                       std::span<const TokenId> tokens,
                                       std::span<const TokenLogprob> scores, bool ends) override {
    LogprobLists& lists = lists_.at(index);
    lists.append(tokens, scores);
    const auto ids = tokens.first(tokens.size() - ends);
    return {chunk(index, text, {}, ids, scores.empty() ? Json() : lists.take())};
  }

  [[nodiscard]] std::vector<Json> end(std::size_t index, FinishReason reason,
                                      std::size_t) override {
    return {chunk_of(choice_json("", index, nullptr, finish_reason_of(reason)))};
  }

  [[nodiscard]] Json usage(std::span<const CompletedPrompt> prompts) const override {
    return answer_json(head_, kObject, Json::array(), prompts);
  }

 private:
  [[nodiscard]] Json chunk(std::size_t index, const std::string& text,
                           std::span<const TokenId> prompt, std::span<const TokenId> tokens,
                           const Json& logprobs) const {
    Json choice = choice_json(text, index, logprobs, nullptr);
    if (with_token_ids_) add_token_ids(choice, prompt, tokens);
    return chunk_of(choice);
  }

  // Returns a part of a stream.
  [[nodiscard]] Json chunk_of(const Json& choice) const {
    Json answer = head_json(head_, kObject);
    answer.add("choices", Json::array({choice}));
    return answer;
  }

  static constexpr const char* kObject = "text_completion";

  const AnswerHead head_;
  const Tokenizer tokenizer_;
  const bool with_token_ids_;
  std::map<std::size_t, LogprobLists> lists_;  // by choice
};

// Returns the member that a message is about, or null: its first word, if a colon follows, as in
// "prompt[0]: expected ...", or if it is an option, as in the library's "logit_bias has ...".
Json member_of(const std::string& message) {
  const std::string word = message.substr(0, message.find_first_of(": "));
  const bool is_member =
      message.substr(word.size()).starts_with(": ") &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789.[]") == std::string::npos;
  return is_member || is_option(word) ? Json(word) : Json();
}

Json error_of(const std::string& message, const std::string& type, const Json& param,
              const Json& code) {
  return {{"error", {{"message", message}, {"type", type}, {"param", param}, {"code", code}}}};
}

}  // namespace

std::vector<TokenId> drawn_tokens(const GenerationResult& result) {
  std::vector<TokenId> tokens = result.tokens;
  if (result.end_token) tokens.push_back(*result.end_token);
  return tokens;
}

void keep_best(CompletedPrompt& prompt, std::size_t n) {
  std::vector<CompletionChoice>& choices = prompt.choices;
  for (const CompletionChoice& choice : choices) {
    prompt.completion_tokens += drawn_tokens(choice.result).size();
  }
  if (choices.size() <= n) return;
  std::ranges::stable_sort(choices, std::greater<>(), mean_logprob);
  choices.erase(choices.begin() + static_cast<std::ptrdiff_t>(n), choices.end());
}

std::unique_ptr<AnswerForm> completion_form(AnswerHead head,
                                            const std::optional<Tokenizer>& tokenizer,
                                            const CompletionRequest& request) {
  return std::make_unique<CompletionAnswer>(std::move(head), tokenizer.value_or(Tokenizer()),
                                            request.with_token_ids);
}

Json head_json(const AnswerHead& head, const char* object) {
  Json answer = Json::object();
  if (head.shows_id) answer.add("id", head.id);
  answer.add({{"object", object}, {"created", head.created}, {"model", head.model}});
  if (!head.fingerprint.empty()) answer.add("system_fingerprint", head.fingerprint);
  return answer;
}

Json answer_json(const AnswerHead& head, const char* object, const Json& choices,
                 std::span<const CompletedPrompt> prompts) {
  Json answer = head_json(head, object);
  answer.add("choices", choices);
  answer.add("usage", usage_json(prompts));
  return answer;
}

Json usage_json(std::span<const CompletedPrompt> prompts) {
  std::size_t prompt_tokens = 0, completion_tokens = 0;
  for (const CompletedPrompt& prompt : prompts) {
    prompt_tokens += prompt.prompt.tokens.size();
    completion_tokens += prompt.completion_tokens;
  }
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens + completion_tokens}};
}

const char* finish_reason_of(FinishReason reason) {
  const bool stops = reason == FinishReason::end_of_text || reason == FinishReason::stop_string;
  return stops ? "stop" : "length";
}

std::string token_text(const Tokenizer& tokenizer, TokenId id) {
  const std::string_view bytes = tokenizer.bytes(id);
  if (bytes.empty()) return concat("token_id:", id);
  if (valid_utf8_prefix(bytes) == bytes.size()) return std::string(bytes);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return text;
}

Json error_json(const std::string& message, const std::string& type, const Json& code) {
  return error_of(message, type, member_of(message), code);
}

Json error_json(const Error& error) {
  const std::string message = error.what();
  const auto* const mistake = dynamic_cast<const RequestError*>(&error);
  const bool has_param = mistake != nullptr && !mistake->param().empty();
  const bool has_code = mistake != nullptr && mistake->kind() != nullptr;
  return error_of(message, "invalid_request_error",
                  has_param ? Json(mistake->param()) : member_of(message),
                  has_code ? Json(mistake->kind()) : Json());
}

}  // namespace gpt2
