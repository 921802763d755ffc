#include "cli/batch_input.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/batch_options.h"
#include "cli/console.h"
#include "cli/prompt.h"
#include "cli/records.h"
#include "gpt2/error.h"

namespace gpt2::cli {
namespace {

using nlohmann::json;

// Reads one line into a request. If the line has an error, the request keeps the members read
// before it.
class RequestReader {
 public:
  RequestReader(BatchRequest& request, const BatchSettings& settings,
                const std::optional<Tokenizer>& tokenizer, const Config& config)
      : request_(request), settings_(settings), tokenizer_(tokenizer), config_(config) {}

  void read_prompt(const std::string& text);

  // Reads a line. Sets `object` even if the line is invalid, provided that it is JSON.
  void read_json(json& object, const std::string& text);

  // Fits the prompt into the context. Unless the line has its own length, limits the text to the
  // max_length of the model's generation config.
  void fit(bool truncate, bool has_length);

 private:
  void read_completion(const json& object);
  void read_scoring(Members& members);
  void begin_if_empty();

  BatchRequest& request_;
  const BatchSettings& settings_;
  const std::optional<Tokenizer>& tokenizer_;
  const Config& config_;
};

void RequestReader::read_prompt(const std::string& text) {
  if (tokenizer_) request_.lost_bytes = tokenizer_->unencodable_bytes(text);
  request_.prompt = tokenizer_ ? tokenizer_->encode(text) : parse_tokens(text, config_.vocab_size);
  begin_if_empty();
}

void RequestReader::begin_if_empty() {
  if (request_.prompt.empty()) request_.prompt = {first_token(tokenizer_, config_)};
}

void RequestReader::fit(bool truncate, bool has_length) {
  request_.truncated =
      fit_context(request_.prompt, truncate, request_.options.max_new_tokens, config_.n_positions);
  if (has_length || !settings_.defaults.max_length) return;
  request_.options.max_new_tokens =
      new_tokens(*settings_.defaults.max_length, request_.prompt.size());
}

// Reads a line in this command's own format, or the body of a line in OpenAI's format.
void RequestReader::read_completion(const json& object) {
  if (!object.is_object()) refuse("\"body\" is not an object: see OpenAI's batch format");
  Members members(object);
  static_cast<void>(members.text("custom_id"));
  if (object.contains("text") || object.contains("choices")) return read_scoring(members);
  const json* const prompt = members.find("prompt");
  const json* const ids = members.find("token_ids");
  if ((prompt != nullptr) == (ids != nullptr)) {
    refuse(prompt ? "both \"prompt\" and \"token_ids\" are given: remove one of them"
                  : "neither \"prompt\" nor \"token_ids\" is given: give one of them, or \"text\" "
                    "or \"choices\" to score");
  }
  if (ids != nullptr || prompt->is_array()) {
    const TokenReader reader = {tokenizer_, config_.vocab_size};
    request_.prompt = reader.read_ids(ids ? *ids : *prompt, ids ? "token_ids" : "prompt");
    begin_if_empty();
  } else if (!tokenizer_) {
    refuse("with --tokens, there is no tokenizer for \"prompt\": give \"token_ids\"");
  } else {
    read_prompt(*members.text("prompt"));
  }
  read_options(members, object, request_.prompt.size(), request_.options);
  if (!tokenizer_ && !request_.options.stop.empty()) {
    refuse("stop: with --tokens, there is no tokenizer that could find texts: remove it");
  }
  const std::size_t samples = settings_.defaults.samples;
  for (const char* const name : {"n", "num_return_sequences"}) {
    const auto count = members.count(name, 1, 1 << 20);
    if (count && *count > samples) {
      refuse(format("%s is %zu, but --samples is %zu: give a --samples that no line exceeds", name,
                    *count, samples));
    }
    request_.samples = count.value_or(request_.samples);
  }
  for (const char* const name : {"stream", "echo"}) {
    if (members.flag(name).value_or(false)) refuse(std::string(name) + " is true: remove it");
  }
  for (const char* const ignored : {"model", "user"}) static_cast<void>(members.find(ignored));
  const bool truncate = members.flag("truncate").value_or(settings_.defaults.truncate);
  members.refuse_others();
  bool has_length = false;
  for (const char* const name : {"max_length", "max_tokens", "max_new_tokens"}) {
    has_length = has_length || members.find(name) != nullptr;
  }
  fit(truncate, has_length);
}

void RequestReader::read_scoring(Members& members) {
  const TokenReader reader = {tokenizer_, config_.vocab_size, &request_.lost_bytes};
  request_.scoring =
      read_score_request(members, reader, config_, settings_.defaults.generation.top_logprobs);
  request_.samples = 1;
  for (const char* const ignored : {"model", "user"}) static_cast<void>(members.find(ignored));
  members.refuse_others();
}

void RequestReader::read_json(json& object, const std::string& text) {
  parse_object(object, text);
  if (!object.contains("body")) return read_completion(object);
  Members members(object);
  static_cast<void>(members.text("custom_id"));
  const std::string url = members.text("url").value_or("/v1/completions");
  if (url != "/v1/completions") {
    refuse("url: expected \"/v1/completions\", which continues a text, found \"" + url + "\"");
  }
  for (const char* const known : {"method", "body"}) static_cast<void>(members.find(known));
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
