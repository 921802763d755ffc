#include <nlohmann/json.hpp>
#include <utility>

#include "base/fail.h"
#include "cli/batch/batch.h"
#include "cli/lines.h"
#include "requests/read/members.h"
#include "requests/read/options.h"
#include "requests/read/tokens.h"

namespace gpt2::cli {
namespace {

using nlohmann::json;

// Reads one line into a request. If the line has an error, the request keeps the members read
// before it.
struct RequestReader {
  BatchRequest& request;
  const BatchSettings& settings;
  const RequestContext& context;
  const TokenReader reader;

  void read_json(const std::string& text);
  void take_id(const json& object);
  void read_body(json& body);
  void read_completion(json& body);
};

// Throws Error if the line has a list of texts, each as text or as token ids, in place of a text.
// An empty list may have been meant for one.
void refuse_lists(const json& body) {
  for (const auto& [name, alternative] :
       {std::pair("prompt", ", or give --format openai"), {"text", ""}, {"context", ""}}) {
    if (name == std::string_view("context") && !body.contains("choices")) continue;  // a number
    const auto list = body.find(name);
    if (list == body.end() || !list->is_array()) continue;
    if (list->empty()) {
      reject(name, ": expected a text or a list of 1 token id or more, found an empty list");
    }
    if (!list->front().is_string() && !list->front().is_array()) continue;
    reject(name, ": expected a text or a list of token ids, found a list of ", name,
           "s: give each one a line of its own", alternative);
  }
}

// Reads a line in this command's own format: the request that every door takes, without what has no
// place in a record. Each line has as many texts as --samples says, unless it asks for fewer.
void RequestReader::read_completion(json& body) {
  RequestContext own = context;
  own.max_choices = GenerationConfig::kMaxSamples;
  CompletionRequest& completion = request.completion;
  const std::size_t samples = settings.defaults.samples;
  const bool has_n = body.contains("n") || body.contains("num_return_sequences");
  if (body.contains("sequence"))
    reject("sequence: 'gpt2 batch' numbers the texts itself: remove it");
  Members members(body);
  const std::vector<TokenId> tokens = read_tokens(members, reader, "prompt");
  const std::size_t lost_bytes = completion.lost_bytes;
  body.erase("token_ids");
  body["prompt"] = tokens.empty() ? json() : json(tokens);
  completion = read_completion_request(body, own);
  completion.lost_bytes = lost_bytes;
  for (const auto& [is_set, name] : {std::pair(completion.stream, "stream"),
                                     {completion.echo, "echo"},
                                     {completion.best_of != completion.n, "best_of"}}) {
    if (is_set) reject(name, ": remove it, or give --format openai");
  }
  if (completion.n > samples) {
    reject("n is ", completion.n, ", but --samples is ", samples,
           ": give a --samples that no line exceeds");
  }
  if (!has_n) completion.n = completion.best_of = samples;
}

// Reads a line in this command's own format, or the body of a line in OpenAI's format.
void RequestReader::read_body(json& body) {
  if (!body.is_object()) reject("\"body\" is not an object: see OpenAI's batch format");
  if (body.contains("messages") && !body["messages"].is_null()) {
    reject(
        "messages: 'gpt2 batch' continues texts and has no chats: write them as one \"prompt\", or "
        "use 'gpt2 serve'");
  }
  Members members(body);
  static_cast<void>(members.text("custom_id"));
  if (!settings.openai) refuse_lists(body);
  if (!settings.openai && (body.contains("text") || body.contains("choices"))) {
    members.ignore({"model", "user"});
    request.scoring =
        read_line_to_score(members, reader, context.config, context.defaults.top_logprobs);
    return;
  }
  body.erase("custom_id");  // of a line that is a request without a "body"
  if (settings.openai) {
    request.completion = read_completion_request(body, context);
  } else {
    read_completion(body);
  }
  if (request.completion.beams.num_beams > 1) {
    reject("num_beams: 'gpt2 batch' has no beam search: remove it, or use 'gpt2 serve'");
  }
}

void RequestReader::take_id(const json& object) {
  if (!object.is_object() || !object.contains("custom_id")) return;
  if (object["custom_id"].is_string()) request.custom_id = object["custom_id"].get<std::string>();
}

// Reads a line that is JSON. An invalid line has its "custom_id", too, if that precedes the fault.
void RequestReader::read_json(const std::string& text) {
  json object;
  try {
    parse_object(object, text, kLineName);
  } catch (const Error&) {
    take_id(object);
    throw;
  }
  take_id(object);
  if (!object.contains("body") && !object.contains("url")) return read_body(object);
  Members members(object);
  static_cast<void>(members.need("body"));
  const std::string method = members.text("method").value_or("POST");
  if (method != "POST") reject("method: expected \"POST\", found \"", method, "\"");
  static_cast<void>(members.text("custom_id"));
  const std::string url = members.text("url").value_or("/v1/completions");
  if (url != "/v1/completions") {
    reject("url: expected \"/v1/completions\", which continues a text, found \"", url,
           "\": 'gpt2 serve' answers the others");
  }
  members.refuse_others();
  read_body(object.at("body"));
}

}  // namespace

BatchRequest read_request(const Line& line, bool is_plain, const BatchContext& of,
                          const GenerationOptions& defaults) {
  BatchRequest request;
  const Writing& writing = of.settings.defaults;
  const Config& config = of.engine.model().config();
  request.completion.options = defaults;
  request.completion.n = request.completion.best_of = writing.samples;
  const RequestContext context = {of.tokenizer, config, defaults, writing.max_length,
                                  writing.truncate};
  const TokenReader reader = {
      of.tokenizer, config.vocab_size,
      [&request](std::size_t lost, std::size_t) { request.completion.lost_bytes += lost; }};
  try {
    const std::string text = text_of(line);
    if (is_plain) {
      add_prompt(request.completion, reader.read(text), context);
    } else {
      RequestReader{request, of.settings, context, reader}.read_json(text);
    }
  } catch (const Error&) {
    request.error = std::current_exception();
  }
  return request;
}

}  // namespace gpt2::cli
