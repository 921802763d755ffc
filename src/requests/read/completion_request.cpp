#include "requests/read/completion_request.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "base/json.h"
#include "requests/read/options.h"
#include "requests/read/tokens.h"

namespace gpt2 {
namespace {

using nlohmann::json;

// The name by which the request gives the number of texts.
const char* name_of_n(Members& members) {
  return members.find("num_return_sequences") != nullptr ? "num_return_sequences" : "n";
}

void read_best_of(Members& members, CompletionRequest& request, std::size_t most) {
  request.best_of = members.count("best_of", 1, most).value_or(request.n);
  if (request.best_of < request.n) {
    reject("best_of: expected at least the number of \"", name_of_n(members), "\", ", request.n,
           ", found ", request.best_of);
  }
  if (request.stream && request.best_of != request.n) {
    reject("best_of: the best texts are known only at the end: remove \"stream\" or \"best_of\"");
  }
  if (request.best_of != request.n && !request.options.top_logprobs) {
    request.options.top_logprobs = 0;  // to find the best
  }
}

// Throws Error for what has no effect without a beam search. num_return_sequences, another name of
// "n", has one.
void refuse_beam_options(Members& members) {
  for_each_beam_field([&](const auto& field) {
    const std::string_view name = field.name;
    if (name == "num_beams" || name == "num_return_sequences") return;
    if (members.find(field.name) == nullptr) return;
    reject(name, ": needs \"num_beams\": give at least 2 beams");
  });
}

// Throws Error for what a beam search, which does not draw, slide or search the text, would ignore.
void check_beams(Members& members, const CompletionRequest& request) {
  const auto refuse = [](bool is_set, const char* name) {
    if (is_set) reject(name, ": cannot be combined with \"num_beams\": give only one of them");
  };
  refuse(request.stream, "stream");
  refuse(request.best_of != request.n, "best_of");
  refuse(request.with_logprobs, "logprobs");
  refuse(!request.options.stop.empty(), "stop");
  refuse(members.find("overflow") != nullptr, "overflow");
  refuse(members.flag("do_sample").value_or(false), "do_sample");
  for_each_sampling_field([&](const auto& field) {
    refuse(field.role == OptionRole::draws && members.find(field.name) != nullptr, field.name);
  });
}

void read_beams(Members& members, CompletionRequest& request) {
  read_beam_options(members, request.beams);
  if (request.beams.num_beams == 1) return refuse_beam_options(members);
  for (const char* const name : {"max_tokens", "max_new_tokens"}) {  // at least one
    static_cast<void>(members.count(name, 1, kMaxOptionTokens));
  }
  request.beams.num_return_sequences = request.n;
  if (request.n > request.beams.num_beams) {
    reject(name_of_n(members), ": expected at most the number of \"num_beams\", ",
           request.beams.num_beams, ", found ", request.n);
  }
  check_beams(members, request);
}

// Reads the members of RequestContext::with_drafts.
void read_draft_members(Members& members, GenerationOptions& options, const TokenReader& reader) {
  options.prompt_lookup = members.flag("prompt_lookup").value_or(false);
  options.constant_draft = members.flag("constant_draft").value_or(false);
  options.hash_logits = members.flag("hash_logits").value_or(false);
  options.max_draft_tokens = members.count("max_draft_tokens", 1, GenerationOptions::kMaxDraft)
                                 .value_or(options.max_draft_tokens);
  if (const json* const ids = members.find("stop_tokens")) {
    options.stop_tokens = reader.read_ids(*ids, "stop_tokens");
  }
}

}  // namespace

GenerationOptions request_defaults(bool is_own) {
  GenerationOptions options = {.sampling = {.temperature = 0.8f, .top_k = 40}};
  if (!is_own) options.max_new_tokens = 16;
  return options;
}

void read_request_options(Members& members, CompletionRequest& request,
                          const RequestContext& context,
                          std::initializer_list<std::string_view> left_out) {
  const json* const seed = members.find("seed");
  request.draws_seed = seed == nullptr ? context.draws_seed : is_text(*seed, "random");
  std::vector<std::string_view> rows(left_out);
  if (request.draws_seed) {
    request.options.sampling.seed = random_seed();
    rows.emplace_back("seed");
  }
  read_options(members, request.options, rows);
}

void read_answer_members(Members& members, CompletionRequest& request,
                         const RequestContext& context) {
  members.refuse_both("n", "num_return_sequences");
  for (const char* const name : {"n", "num_return_sequences"}) {
    request.n = members.count(name, 1, context.max_choices).value_or(request.n);
  }
  request.stream = members.flag("stream").value_or(false);
  if (const json* const options = members.find("stream_options")) {
    if (!request.stream) reject("stream_options: needs \"stream\": true");
    if (!options->is_object()) members.refuse("stream_options", "an object");
    Members stream(*options, "stream_options.");
    stream.ignore({"include_obfuscation"});
    request.include_usage = stream.flag("include_usage").value_or(false);
    stream.refuse_others();
  }
}

void add_prompt(CompletionRequest& request, std::vector<TokenId> tokens,
                const RequestContext& context) {
  CompletionPrompt prompt = {.tokens = std::move(tokens),
                             .max_new_tokens = request.options.max_new_tokens};
  prompt.is_empty = prompt.tokens.empty();
  if (prompt.is_empty) prompt.tokens = {first_token(context.tokenizer, context.config)};
  request.truncated += fit_context(prompt.tokens, context.truncate, prompt.max_new_tokens,
                                   context.config.n_positions, "truncate", context.prompt_name);
  if (context.max_length) {
    prompt.max_new_tokens = new_tokens(*context.max_length, prompt.tokens.size());
  }
  request.prompts.push_back(std::move(prompt));
}

CompletionRequest read_completion_request(const json& body, const RequestContext& context) {
  CompletionRequest request = {.options = context.defaults};
  Members members(body);
  members.ignore({"user", "metadata", "store", "prompt_cache_key", "safety_identifier"});
  static_cast<void>(members.text("model"));
  if (members.find("suffix") != nullptr) {
    reject("suffix: the model continues texts and cannot insert into them: remove it");
  }
  TokenReader reader = {context.tokenizer, context.config.vocab_size,
                        [&](std::size_t lost, std::size_t) { request.lost_bytes += lost; }};
  reader.read_settings(members);
  // OpenAI's default of a prompt that is null is the end-of-text token, which begins a new text.
  const bool is_null = body.contains("prompt") && members.find("prompt") == nullptr;
  const auto prompts =
      is_null ? std::vector(1, std::vector<TokenId>())
              : reader.read_list(members.need("prompt"), "prompt", context.max_prompts);
  if (context.with_drafts) read_draft_members(members, request.options, reader);
  read_request_options(members, request, context);
  request.with_logprobs = request.options.top_logprobs.has_value();
  read_answer_members(members, request, context);
  read_best_of(members, request, context.max_choices);
  read_beams(members, request);
  request.echo = members.flag("echo").value_or(false);
  request.with_token_ids =
      members.flag("return_token_ids").value_or(false) || !context.tokenizer;  // vLLM's
  RequestContext own = context;
  own.truncate = members.flag("truncate").value_or(context.truncate);
  own.max_length = read_max_length(members, context.max_length);
  members.refuse_others();
  for (const std::vector<TokenId>& tokens : prompts) add_prompt(request, tokens, own);
  return request;
}

}  // namespace gpt2
