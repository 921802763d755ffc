#include "cli/batch/request.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "cli/lines/members.h"
#include "cli/lines/records.h"
#include "cli/options/fields.h"
#include "cli/tokens.h"
#include "generate/option_json.h"

namespace gpt2::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxPrompts = 2048;  // of a line in OpenAI's format, as OpenAI's API
constexpr std::size_t kMaxChoices = 128;   // for each of these prompts, the same

// Returns how many tokens may follow the prompt if the prompt and the text may have `max_length`
// tokens together. Throws Error if there is no room for any.
std::size_t new_tokens(std::size_t max_length, std::size_t prompt_tokens) {
  if (max_length > prompt_tokens) return max_length - prompt_tokens;
  reject("max_length is ", max_length, " and includes the prompt, which has ", prompt_tokens,
         " tokens: give max_new_tokens");
}

// Reads one line into a request. If the line has an error, the request keeps the members read
// before it.
class RequestReader {
 public:
  RequestReader(BatchRequest& request, const BatchSettings& settings,
                const std::optional<Tokenizer>& tokenizer, const Config& config)
      : request_(request), settings_(settings), tokenizer_(tokenizer), config_(config) {}

  void read_prompt(const std::string& text);

  // Reads a line. Sets `object` even if the line is invalid.
  void read_json(json& object, const std::string& text);

  // Fits the prompt into the context. Unless the line has its own length, limits the text to the
  // max_length of the model's generation config.
  void fit(bool truncate, bool has_length);

 private:
  void read_completion(const json& object);
  void read_tokens(Members& members);
  void read_scoring(Members& members);
  void read_options(Members& members);
  void read_samples(Members& members);
  void read_prompts(const json& prompt);
  void read_openai_members(Members& members);
  void add_prompt(std::vector<TokenId> tokens);
  [[nodiscard]] std::size_t longest_prompt() const;

  // Sets the option of a row from the member with this name. The limit of logprobs is that of the
  // command line.
  template <class Field, class Values>
  void read_field(Members& members, Field field, Values& values, const char* name) {
    const json* const value = members.find(name);
    if (value == nullptr) return;
    if (std::string_view(field.name) == "logprobs") field.range.max = kMaxLogprobs;
    using Codec = OptionJson<typename Field::Value>;
    if (!Codec::read(*value, field.range, values.*field.member)) {
      members.refuse(name, Codec::form(field.range));
    }
  }

  BatchRequest& request_;
  const BatchSettings& settings_;
  const std::optional<Tokenizer>& tokenizer_;
  const Config& config_;
};

void RequestReader::read_prompt(const std::string& text) {
  if (tokenizer_) request_.lost_bytes += tokenizer_->unencodable_bytes(text);
  add_prompt(tokenizer_ ? tokenizer_->encode(text) : parse_tokens(text, config_.vocab_size));
}

void RequestReader::add_prompt(std::vector<TokenId> tokens) {
  if (tokens.empty()) tokens = {first_token(tokenizer_, config_)};
  request_.prompts.push_back(std::move(tokens));
}

void RequestReader::fit(bool truncate, bool has_length) {
  for (std::vector<TokenId>& prompt : request_.prompts) {
    request_.truncated +=
        fit_context(prompt, truncate, request_.options.max_new_tokens, config_.n_positions);
  }
  if (has_length || !settings_.defaults.max_length) return;
  request_.options.max_new_tokens = new_tokens(*settings_.defaults.max_length, longest_prompt());
}

std::size_t RequestReader::longest_prompt() const {
  std::size_t longest = 0;
  for (const auto& prompt : request_.prompts) longest = std::max(longest, prompt.size());
  return longest;
}

// Reads the prompt of a line, as text or as token ids.
void RequestReader::read_tokens(Members& members) {
  const json* const prompt = members.find("prompt");
  const json* const ids = members.find("token_ids");
  if ((prompt != nullptr) == (ids != nullptr)) {
    if (settings_.openai && !prompt) reject("expected \"prompt\", found no such key");
    reject(prompt ? "both \"prompt\" and \"token_ids\" are given: remove one of them"
                  : "neither \"prompt\" nor \"token_ids\" is given: give one of them, or \"text\" "
                    "or \"choices\" to score");
  }
  if (ids != nullptr || prompt->is_array()) {
    const TokenReader reader = {tokenizer_, config_.vocab_size};
    if (ids == nullptr && settings_.openai) return read_prompts(*prompt);
    add_prompt(reader.read_ids(ids ? *ids : *prompt, ids ? "token_ids" : "prompt"));
  } else if (!tokenizer_) {
    reject("with --tokens, there is no tokenizer for \"prompt\": give \"token_ids\"");
  } else {
    read_prompt(*members.text("prompt"));
  }
}

// Reads a list: of token ids, of texts, or of lists of token ids.
void RequestReader::read_prompts(const json& prompt) {
  const TokenReader reader = {tokenizer_, config_.vocab_size, &request_.lost_bytes};
  if (prompt.empty() || prompt.size() > kMaxPrompts) {
    reject("prompt: expected a list of 1 to ", kMaxPrompts, " elements, found ", prompt.size());
  }
  if (prompt[0].is_number()) return add_prompt(reader.read_ids(prompt, "prompt"));
  for (const json& one : prompt) {
    add_prompt(reader.read_json(one, concat("prompt[", request_.prompts.size(), "]")));
  }
}

// Reads the options, whose names are those of HuggingFace's generate() and OpenAI's completions.
// Other values are refused by Scheduler::submit and its future.
void RequestReader::read_options(Members& members) {
  GenerationOptions& options = request_.options;
  for_each_field(options, [&](const auto& field, auto& values) {
    const std::string_view name = field.name;
    if (name == "sequence") return;  // the command chooses it
    if (name == "stop") read_field(members, field, values, "stop_strings");
    if (name == "max_new_tokens") read_field(members, field, values, "max_tokens");
    read_field(members, field, values, field.name);
  });
  if (!members.flag("do_sample").value_or(true)) options.sampling.temperature = 0.0f;
  const auto length = members.count("max_length", 0, kMaxOptionTokens);
  if (members.find("max_new_tokens") != nullptr || members.find("max_tokens") != nullptr) return;
  if (length) options.max_new_tokens = new_tokens(*length, longest_prompt());
}

void RequestReader::read_samples(Members& members) {
  const std::size_t samples = settings_.openai ? kMaxChoices : settings_.defaults.samples;
  for (const char* const name : {"n", "num_return_sequences"}) {
    const auto count = members.count(name, 1, settings_.openai ? kMaxChoices : kMaxSamples);
    if (count && *count > samples) {
      reject(name, " is ", *count, ", but --samples is ", samples,
             ": give a --samples that no line exceeds");
    }
    request_.samples = count.value_or(request_.samples);
  }
}

// Reads what only the completions API has.
void RequestReader::read_openai_members(Members& members) {
  request_.echo = members.flag("echo").value_or(false);
  const bool stream = members.flag("stream").value_or(false);
  if (settings_.openai) {
    members.ignore({"stream_options"});
    const auto best_of = members.count("best_of", 1, kMaxChoices);
    if (best_of && *best_of != request_.samples) {
      reject("best_of: expected the number of \"n\", ", request_.samples, ", found ", *best_of,
             ": remove it");
    }
    return;
  }
  for (const auto& [name, is_set] :
       {std::pair("stream", stream), std::pair("echo", request_.echo)}) {
    if (is_set) reject(name, " is true: remove it, or give --format openai");
  }
}

// Reads a line in this command's own format, or the body of a line in OpenAI's format.
void RequestReader::read_completion(const json& object) {
  if (!object.is_object()) reject("\"body\" is not an object: see OpenAI's batch format");
  Members members(object);
  members.ignore({"model", "user"});
  static_cast<void>(members.text("custom_id"));
  if (!settings_.openai && (object.contains("text") || object.contains("choices"))) {
    return read_scoring(members);
  }
  read_tokens(members);
  read_options(members);
  if (!tokenizer_ && !request_.options.stop.empty()) {
    reject("stop: with --tokens, there is no tokenizer that could find texts: remove it");
  }
  read_samples(members);
  read_openai_members(members);
  const bool truncate = members.flag("truncate").value_or(settings_.defaults.truncate);
  bool has_length = false;
  for (const char* const name : {"max_length", "max_tokens", "max_new_tokens"}) {
    has_length = has_length || members.find(name) != nullptr;
  }
  members.refuse_others();
  fit(truncate, has_length);
}

// Reads a line with "text" or with "choices".
void RequestReader::read_scoring(Members& members) {
  const TokenReader reader = {tokenizer_, config_.vocab_size, &request_.lost_bytes};
  for (const char* const prompt : {"prompt", "token_ids"}) {
    const char* const scored = members.find("choices") != nullptr ? "choices" : "text";
    if (members.find(prompt) == nullptr) continue;
    reject("\"", prompt, "\", which is continued, and \"", scored,
           "\", which is scored, exclude each other: remove one of them");
  }
  ScoreRequest& request = request_.scoring.emplace();
  request_.samples = 1;
  if (members.find("choices") != nullptr) {
    request.question = read_question(members, reader, config_);
    return members.refuse_others();
  }
  request.text = reader.read_json(members.need("text"), "text");
  check_scored_length(request.text.size());
  std::optional<std::size_t> top_logprobs = settings_.defaults.options.top_logprobs;
  const std::size_t most = std::min(kMaxLogprobs, config_.vocab_size);
  if (const auto count = members.count("logprobs", 0, most)) top_logprobs = count;
  request.with_logprobs = top_logprobs.has_value();
  ScoreOptions& options = request.options;
  options.top_logprobs = top_logprobs.value_or(0);
  options.context = members.count("context", 2, config_.n_positions).value_or(config_.n_positions);
  options.stride = members.count("stride", 1, options.context).value_or(0);
  options = options.resolved(config_);
  members.refuse_others();
}

void RequestReader::read_json(json& object, const std::string& text) {
  parse_object(object, text);
  if (!object.contains("body")) return read_completion(object);
  Members members(object);
  members.ignore({"method", "body"});
  static_cast<void>(members.text("custom_id"));
  const std::string url = members.text("url").value_or("/v1/completions");
  if (url != "/v1/completions") {
    reject("url: expected \"/v1/completions\", which continues a text, found \"", url, "\"");
  }
  members.refuse_others();
  read_completion(object.at("body"));
}

}  // namespace

BatchRequest read_request(const Line& line, const BatchSettings& settings,
                          const GenerationOptions& defaults,
                          const std::optional<Tokenizer>& tokenizer, const Config& config) {
  BatchRequest request = {.options = defaults, .samples = settings.defaults.samples};
  RequestReader reader(request, settings, tokenizer, config);
  json object;
  try {
    if (settings.lines) {
      reader.read_prompt(text_of(line));
      reader.fit(settings.defaults.truncate, false);
    } else {
      reader.read_json(object, text_of(line));
    }
  } catch (const Error& error) {
    request.error = error.what();
  }
  if (object.is_object() && object.contains("custom_id") && object["custom_id"].is_string()) {
    request.custom_id = object["custom_id"].get<std::string>();
  }
  return request;
}

}  // namespace gpt2::cli
