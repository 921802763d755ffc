#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "cli/batch/batch.h"
#include "cli/lines.h"
#include "gpt2/generation_config.h"
#include "requests/read/members.h"

namespace gpt2::cli {
namespace {

using nlohmann::json;

// The kind of a request that names no path is that of the first of these members that it has.
constexpr std::pair<const char*, const char*> kKindsByMember[] = {
    {"choices", "choices"}, {"text", "score"}, {"messages", "chat"}, {"input", "embeddings"}};

const RunKind& kind_of_members(Members& body) {
  for (const auto& [member, kind] : kKindsByMember) {
    if (body.has(member)) return run_kind(kind);
  }
  return run_kind("completions");
}

const RunKind& kind_of_url(const std::string& url) {
  std::string paths;
  for (const RunKind& kind : run_kinds()) {
    if (kind.path.empty()) continue;
    if (kind.path == url) return kind;
    paths += concat(paths.empty() ? "" : ", ", kind.path);
  }
  reject_member("url", "expected one of ", paths, "; found ", quote(url, 60));
}

// Sets the kind of a line, and returns its request: the line itself or, in OpenAI's batch format,
// its "body".
json body_of(const json& object, BatchRequest& request) {
  Members line(object);
  static_cast<void>(line.text("custom_id"));
  if (!line.has("body") && !line.has("url")) {
    request.kind = &kind_of_members(line);
    return object;
  }
  const json& body = line.need("body");
  if (!body.is_object()) line.refuse("body", "an object");
  static_cast<void>(line.word("method", {"POST"}));
  const auto url = line.text("url");
  Members members(body);
  request.kind = &(url ? kind_of_url(*url) : kind_of_members(members));
  line.refuse_others();
  return body;
}

// Throws RequestError for what this command does not do.
void check(Members& members, const CompletionRequest& completion, bool has_records) {
  struct Refusal {
    bool is_set;
    const char *name, *reason;
  };
  for (const auto& [is_set, name, reason] :
       {Refusal{completion.searches(), "num_beams", "'gpt2 batch' has no beam search: remove it"},
        {members.has("sequence"), "sequence", "'gpt2 batch' numbers the texts itself: remove it"},
        {has_records && completion.best_of != completion.n, "best_of",
         "remove it, or give --format openai"}}) {
    if (is_set) reject_member(name, reason);
  }
}

// Reads the request in `body`.
void read_body(json body, const BatchContext& of, BatchRequest& request) {
  const BatchSettings& settings = of.settings;
  if (!settings.openai && request.kind->name == "completions") {
    request.kind = &run_kind("generate");
  }
  body.erase("custom_id");
  Members members(body);
  RequestContext context = of.requests();
  if (request.has_records()) {
    context.max_prompts = 1;
    context.max_choices = GenerationConfig::kMaxSamples;
    if (!members.has("num_return_sequences")) body["num_return_sequences"] = settings.samples;
    for (const char* const name : {"stream", "stream_options"}) body.erase(name);
  }
  request.read = request.kind->read(body, context);
  auto* const completion = std::get_if<CompletionRequest>(&request.read);
  if (completion == nullptr) return;
  check(members, *completion, request.has_records());
  if (request.has_records() && completion->n > settings.samples) {
    members.reject("num_return_sequences", "expected at most the number of --samples, ",
                   settings.samples, ", found ", completion->n);
  }
  completion->stream = false;
  completion->options.prompt_lookup =
      members.flag("prompt_lookup").value_or(settings.model.looks_up());
  if (of.draft) completion->set_draft(*of.draft);
}

}  // namespace

BatchRequest read_request(const Line& line, bool is_plain, const BatchContext& of) {
  BatchRequest request = {.kind = &run_kind("completions")};
  json object = json::object();
  try {
    const std::string text = text_of(line);
    if (!is_plain) {
      parse_object(object, text, kLineName);
      read_body(body_of(object, request), of, request);
    } else {
      const char* const name = of.tokenizer ? "prompt" : "token_ids";
      read_body({{name, text_or_ids(text, of.requests())}}, of, request);
    }
  } catch (const Error&) {
    request.error = std::current_exception();
  }
  // An invalid line has its "custom_id", too, if that precedes the fault.
  const bool has_id = object.is_object() && object.contains("custom_id");
  if (has_id && object["custom_id"].is_string()) request.custom_id = object["custom_id"];
  return request;
}

}  // namespace gpt2::cli
