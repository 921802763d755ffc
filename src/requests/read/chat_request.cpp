#include "requests/read/completion_request.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/json.h"
#include "requests/read/options.h"
#include "requests/read/tokens.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxTopLogprobs = 20;                                  // as OpenAI's API
constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();  // of max_new_tokens
constexpr std::string_view kUser = "User:", kAssistant = "Assistant:";

enum class Role { system, user, assistant };

struct Message {
  Role role;
  std::string content;
};

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
  if (!content.is_array()) reject_member(name, "expected a text, found ", content.type_name());
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const json& part = content[i];
    const auto is_type = [&](std::string_view type) { return has_text(part, "type", type); };
    if (std::ranges::none_of(types, is_type)) {
      reject_member(concat(name, "[", i, "]"), "expected a part of the type \"", types.front(),
                    "\": the model reads texts");
    }
    const auto found = part.find("text");
    if (found == part.end() || !found->is_string()) {
      reject_member(concat(name, "[", i, "].text"), "expected a text, found ",
                    found == part.end() ? "null" : found->type_name());
    }
    text += found->get_ref<const std::string&>();
  }
  return text;
}

std::vector<TokenId> dialog(const std::vector<Message>& messages, TokenReader& reader,
                            TokenId end) {
  std::vector<TokenId> tokens;
  for (const auto& [role, content] : messages) {
    const std::vector<TokenId> turn = reader.read(content);
    tokens.insert(tokens.end(), turn.begin(), turn.end());
    tokens.push_back(end);
  }
  return tokens;
}

// Returns the token that ends each message of a dialog.
TokenId end_of_message(const std::optional<Tokenizer>& tokenizer, const Config& config) {
  if (tokenizer && tokenizer->end_of_text()) return *tokenizer->end_of_text();
  if (!config.eos_token_id.empty()) return config.eos_token_id.front();
  reject("a dialog needs an end-of-text token behind each message, and the model has none");
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
  return dialog(messages, reader, end_of_message(context.tokenizer, context.config));
}

void read_chat_logprobs(Members& members, CompletionRequest& request) {
  // The table's "logprobs", which may be a default, is a number.
  request.with_logprobs = members.has("logprobs") && *members.flag("logprobs");
  const auto top = members.count("top_logprobs", 0, kMaxTopLogprobs);
  if (top && !request.with_logprobs) {
    members.reject("top_logprobs", "needs \"logprobs\": true");
  }
  if (request.with_logprobs) request.options.top_logprobs = top.value_or(0);
}

// Reads the member `list_name`, a list of messages. The parts of a message may have the `types`.
std::vector<Message> read_messages(Members& body, const char* list_name,
                                   std::span<const std::string_view> types) {
  const json& list = body.need(list_name);
  if (!list.is_array() || list.empty()) body.refuse(list_name, "a list of at least one message");
  std::vector<Message> messages;
  for (const json& one : list) {
    const std::string name = concat(list_name, "[", messages.size(), "]");
    if (!one.is_object()) reject_member(name, "expected an object, found ", one.type_name());
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

// Throws Error for the members of a chat that a model which continues texts cannot obey.
void refuse_tools(Members& members) {
  for (const char* const name : {"tools", "tool_choice", "functions", "function_call", "audio"}) {
    const json* const value = members.find(name);
    if (value == nullptr || is_text(*value, "none")) continue;
    if (value->is_array() && value->empty()) continue;
    members.reject(name, "the model cannot do this: remove it");
  }
  const json* const modalities = members.find("modalities");
  if (modalities != nullptr && *modalities != json::array({"text"})) {
    members.refuse("modalities", "[\"text\"], the only form of an answer");
  }
}

// Throws Error unless the value, the member `name`, is {"type": "text"} or null.
void check_text_format(Members& members, const char* name) {
  const json* const format = members.find(name);
  if (format != nullptr && !(format->size() == 1 && has_text(*format, "type", "text"))) {
    members.refuse(name, "{\"type\":\"text\"}, the only form of an answer");
  }
}

// Adds the prompt that the messages become, and limits its answer. Throws RequestError for other
// members that nobody has read. To be called last.
void add_chat(CompletionRequest& request, Members& members, const std::vector<Message>& messages,
              PromptFit fit, const RequestContext& context) {
  std::vector<TokenId> prompt = prompt_of(members, messages, context);
  fit.read(members, context.config.n_positions);
  members.refuse_others();
  if (context.chat == ChatForm::transcript) {
    request.options.stop.push_back(concat("\n", kUser));
    request.own_stops = 1;
  }
  // If the prompt loses its beginning, an answer without a limit gets half of the context.
  const std::size_t positions = context.config.n_positions;
  std::size_t& limit = request.options.max_new_tokens;
  if (limit == kUnlimited) limit = prompt.size() > positions ? (positions + 1) / 2 : positions;
  add_prompt(request, std::move(prompt), fit, context);
}

// Returns a request without a prompt, whose answer is not limited unless a member says so.
CompletionRequest begin_chat() {
  CompletionRequest request = {.options = request_defaults(/*is_own=*/false)};
  request.options.max_new_tokens = kUnlimited;
  return request;
}

// Reads "input", a text or messages, after "instructions", which are a message of the system.
std::vector<Message> read_chat_input(Members& members) {
  constexpr std::string_view kTypes[] = {"input_text", "output_text"};
  std::vector<Message> messages;
  if (const auto instructions = members.text("instructions")) {
    messages.push_back({Role::system, *instructions});
  }
  const json& input = members.need("input");
  if (input.is_string()) {
    messages.push_back({Role::user, input.get<std::string>()});
    return messages;
  }
  for (Message& message : read_messages(members, "input", kTypes)) {
    messages.push_back(std::move(message));
  }
  return messages;
}

// Refuses what needs responses that were stored, or what an answer cannot include.
void refuse_stored(Members& members) {
  for (const char* const name : {"previous_response_id", "conversation", "prompt"}) {
    if (members.find(name) == nullptr) continue;
    members.reject(name, "nothing is stored: give all messages as the \"input\"");
  }
  if (members.flag("background").value_or(false)) {
    members.reject("background", "nothing is stored: remove it");
  }
  const json* const include = members.find("include");
  if (include != nullptr && *include != json::array()) {
    members.refuse("include", "[], because an answer has nothing more");
  }
}

}  // namespace

CompletionRequest read_chat_request(const json& body, const RequestContext& context) {
  CompletionRequest request = begin_chat();
  Members members = Members::of_request(body, context.defaults);
  members.ignore({"user", "metadata", "store", "service_tier", "parallel_tool_calls",
                  "prompt_cache_key", "reasoning_effort", "safety_identifier", "verbosity"});
  static_cast<void>(members.text("model"));
  constexpr std::string_view kTypes[] = {"text"};
  const std::vector<Message> messages = read_messages(members, "messages", kTypes);
  read_request_options(members, request, context, {"logprobs"});
  read_chat_logprobs(members, request);
  request.n = members.count("num_return_sequences", 1, context.max_choices).value_or(1);
  read_stream_members(members, request);
  request.best_of = request.n;
  refuse_tools(members);
  check_text_format(members, "response_format");
  add_chat(request, members, messages, {.name = "messages"}, context);
  return request;
}

CompletionRequest read_responses_request(const json& body, const RequestContext& context) {
  CompletionRequest request = begin_chat();
  Members members = Members::of_request(body, context.defaults);
  members.ignore({"user", "metadata", "store", "service_tier", "parallel_tool_calls",
                  "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier",
                  "stream_options", "max_tool_calls"});
  static_cast<void>(members.text("model"));
  const std::vector<Message> messages = read_chat_input(members);
  read_request_options(members, request, context, {"logprobs"});
  request.stream = members.flag("stream").value_or(false);
  refuse_tools(members);
  refuse_stored(members);
  if (const json* const text = members.find("text")) {
    if (!text->is_object()) members.refuse("text", "an object");
    Members of_text(*text, "text.");
    of_text.ignore({"verbosity"});
    check_text_format(of_text, "format");
    of_text.refuse_others();
  }
  const bool truncates = members.word("truncation", {"disabled", "auto"}) == 1;
  add_chat(request, members, messages, {.name = "input", .truncate = truncates}, context);
  return request;
}

}  // namespace gpt2
