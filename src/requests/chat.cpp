#include "requests/chat.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "base/json.h"
#include "requests/options.h"
#include "requests/tokens.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxTopLogprobs = 20;                                  // as OpenAI's API
constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();  // of max_new_tokens
constexpr std::string_view kUser = "User:", kAssistant = "Assistant:";

using Role = ChatRole;
using Message = ChatMessage;

Role read_role(Members& members) {
  const json& role = members.need("role");
  if (is_text(role, "system") || is_text(role, "developer")) return Role::system;
  if (is_text(role, "user")) return Role::user;
  if (is_text(role, "assistant")) return Role::assistant;
  members.refuse("role", "system, developer, user or assistant");
}

// Whether a value is an object whose member `key` is this text.
bool has_text(const json& value, const char* key, std::string_view text) {
  const auto found = value.find(key);
  return found != value.end() && is_text(*found, text);
}

// Reads a content: a text, or a list of parts, all of which must be texts.
std::string read_content(const json& content, const std::string& name,
                         std::span<const std::string_view> types) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) reject(name, ": expected a text, found ", content.type_name());
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const json& part = content[i];
    const auto is_type = [&](std::string_view type) { return has_text(part, "type", type); };
    if (std::ranges::none_of(types, is_type)) {
      reject(name, "[", i, "]: expected a part of the type \"", types.front(),
             "\": the model reads texts");
    }
    const auto found = part.find("text");
    if (found == part.end() || !found->is_string()) {
      reject(name, "[", i, "].text: expected a text, found ",
             found == part.end() ? "null" : found->type_name());
    }
    text += found->get_ref<const std::string&>();
  }
  return text;
}

std::vector<TokenId> dialog(const std::vector<Message>& messages, const TokenReader& reader,
                            TokenId end) {
  std::vector<TokenId> tokens;
  for (const auto& [role, content] : messages) {
    if (role == Role::system) continue;
    const std::vector<TokenId> turn = reader.read(content);
    tokens.insert(tokens.end(), turn.begin(), turn.end());
    tokens.push_back(end);
  }
  return tokens;
}

std::string transcript(const std::vector<Message>& messages) {
  std::string text;
  for (const auto& [role, content] : messages) {
    if (role == Role::system) text += content + "\n\n";
  }
  for (const auto& [role, content] : messages) {
    if (role == Role::system) continue;
    text += concat(role == Role::user ? kUser : kAssistant, " ", content, "\n");
  }
  return text.append(kAssistant);
}

// Unless the request asks for it, no text of a message becomes a special token.
std::vector<TokenId> prompt_of(Members& members, const std::vector<Message>& messages,
                               const RequestContext& context) {
  TokenReader reader = {context.tokenizer, context.config.vocab_size};
  reader.split_special_tokens = true;
  reader.read_settings(members);
  if (context.chat == ChatForm::transcript) return reader.read(transcript(messages));
  return dialog(messages, reader, first_token(context.tokenizer, context.config));
}

void read_logprobs(Members& members, CompletionRequest& request) {
  request.with_logprobs = members.flag("logprobs").value_or(false);
  const auto top = members.count("top_logprobs", 0, kMaxTopLogprobs);
  if (top && !request.with_logprobs) {
    reject("top_logprobs: needs \"logprobs\": true");
  }
  if (request.with_logprobs) request.options.top_logprobs = top.value_or(0);
}

Json top_json(const Tokenizer& tokenizer, TokenId id, float logprob) {
  const std::string_view bytes = tokenizer.bytes(id);
  Json numbers = Json::array();
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return {{"token", token_text(bytes)}, {"logprob", logprob_number(logprob)}, {"bytes", numbers}};
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
                            ? chat_logprobs_json(tokenizer_, result.tokens, result.logprobs)
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
                          std::span<const TokenLogprob> scores) override {
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

std::vector<ChatMessage> read_messages(Members& body, const char* list_name,
                                       std::span<const std::string_view> types) {
  const json& list = body.need(list_name);
  if (!list.is_array() || list.empty()) body.refuse(list_name, "a list of at least one message");
  std::vector<Message> messages;
  for (const json& one : list) {
    const std::string name = concat(list_name, "[", messages.size(), "]");
    if (!one.is_object()) reject(name, ": expected an object, found ", one.type_name());
    Members members(one, name + ".");
    if (members.text("type").value_or("message") != "message") {
      members.refuse("type", "\"message\", because the model has no other items");
    }
    const Role role = read_role(members);
    std::string content = read_content(members.need("content"), name + ".content", types);
    members.ignore({"name", "refusal", "annotations", "id", "status"});
    members.refuse_others();
    messages.push_back({role, std::move(content)});
  }
  return messages;
}

void refuse_tools(Members& members) {
  for (const char* const name : {"tools", "tool_choice", "functions", "function_call", "audio"}) {
    const json* const value = members.find(name);
    if (value == nullptr || is_text(*value, "none")) continue;
    if (value->is_array() && value->empty()) continue;
    reject(name, ": the model cannot do this: remove it");
  }
  const json* const modalities = members.find("modalities");
  if (modalities != nullptr && *modalities != json::array({"text"})) {
    members.refuse("modalities", "[\"text\"], the only form of an answer");
  }
}

void check_text_format(Members& members, const char* name) {
  const json* const format = members.find(name);
  if (format != nullptr && !(format->size() == 1 && has_text(*format, "type", "text"))) {
    members.refuse(name, "{\"type\":\"text\"}, the only form of an answer");
  }
}

std::string chat_content(const std::string& text) {
  return text.starts_with(' ') ? text.substr(1) : text;
}

CompletionRequest begin_chat(const RequestContext& context) {
  CompletionRequest request = {.options = context.defaults};
  if (!context.limits_chats) request.options.max_new_tokens = kUnlimited;
  return request;
}

void add_chat(CompletionRequest& request, Members& members,
              const std::vector<ChatMessage>& messages, const RequestContext& context,
              const char* max_tokens) {
  std::vector<TokenId> prompt = prompt_of(members, messages, context);
  std::size_t& limit = request.options.max_new_tokens;
  for (const char* const other : {"max_tokens", "max_new_tokens"}) {
    members.refuse_both(max_tokens, other);
  }
  RequestContext own = context;
  own.truncate = members.flag("truncate").value_or(context.truncate);
  own.max_length = read_max_length(members, context.max_length);
  if (const auto count = members.count(max_tokens, 0, kMaxOptionTokens)) {
    limit = *count;
    own.max_length.reset();
  }
  members.refuse_others();
  if (context.chat == ChatForm::transcript) {
    request.options.stop.push_back(concat("\n", kUser));
    request.own_stops = 1;
  }
  // If the prompt loses its beginning, an answer without a limit gets half of the context.
  const std::size_t positions = context.config.n_positions;
  if (limit == kUnlimited) limit = prompt.size() > positions ? (positions + 1) / 2 : positions;
  add_prompt(request, std::move(prompt), own);
}

CompletionRequest read_chat_request(const json& body, const RequestContext& context) {
  CompletionRequest request = begin_chat(context);
  Members members(body);
  members.ignore({"user", "metadata", "store", "service_tier", "parallel_tool_calls",
                  "prompt_cache_key", "reasoning_effort", "safety_identifier", "verbosity"});
  static_cast<void>(members.text("model"));
  constexpr std::string_view kTypes[] = {"text"};
  const std::vector<Message> messages = read_messages(members, "messages", kTypes);
  read_request_options(members, request, context, {"logprobs"});
  read_logprobs(members, request);
  read_answer_members(members, request, context);
  request.best_of = request.n;
  refuse_tools(members);
  check_text_format(members, "response_format");
  RequestContext own = context;
  own.prompt_name = "messages";
  add_chat(request, members, messages, own, "max_completion_tokens");
  return request;
}

std::unique_ptr<AnswerForm> chat_form(AnswerHead head, const std::optional<Tokenizer>& tokenizer,
                                      const CompletionRequest&) {
  return std::make_unique<ChatAnswer>(std::move(head), *tokenizer);
}

}  // namespace gpt2
