#include "requests/read/completion_request.h"

#include <algorithm>
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

void read_best_of(Members& members, CompletionRequest& request, std::size_t most) {
  request.best_of = members.count("best_of", 1, most).value_or(request.n);
  if (request.best_of < request.n) {
    members.reject("best_of", "expected at least the number of \"",
                   members.name("num_return_sequences"), "\", ", request.n, ", found ",
                   request.best_of);
  }
  if (request.stream && request.best_of != request.n) {
    members.reject("best_of",
                   "the best texts are known only at the end: remove \"stream\" or \"best_of\"");
  }
  if (request.best_of != request.n && !request.options.top_logprobs) {
    request.options.top_logprobs = 0;  // to find the best
  }
}

// Throws RequestError for what a beam search would ignore, or what has an effect only in one.
void check_effects(Members& members, const CompletionRequest& request) {
  const auto refuse = [&](const std::string& name) {
    const json* const value = members.has(name) ? members.find(name) : nullptr;
    if (value == nullptr || *value == json::array()) return;
    if (!request.searches()) members.reject(name, "needs \"num_beams\": give at least 2 beams");
    members.reject(name, "cannot be combined with \"num_beams\": ",
                   members.has("num_beams")
                       ? "give only one of them"
                       : "leave it out, or give \"num_beams\" 1, because the default is a search");
  };
  for_each_option([&](const auto& field) {
    const OptionEffect effect = effect_of(field);
    if (!(request.searches() ? effect.in_search : effect.in_drawing)) refuse(field.name);
  });
  if (!request.searches()) return;
  if (members.flag("do_sample").value_or(false)) refuse("do_sample");
  if (request.stream) refuse("stream");
  if (request.best_of != request.n) refuse("best_of");
  refuse("prompt_lookup");
}

void read_beams(Members& members, CompletionRequest& request, const RequestContext& context) {
  request.n = members.count("num_return_sequences", 1, context.max_choices).value_or(1);
  read_beam_options(members, request.beams);
  // A default of the number of texts counts where they differ, and not in a search of the
  // request's.
  const bool is_greedy = request.options.sampling.temperature == 0.0f && !request.searches();
  const bool has_one_text = context.session || is_greedy || members.has("num_beams");
  if (has_one_text && !members.has("num_return_sequences")) request.n = 1;
  read_best_of(members, request, context.max_choices);
  check_effects(members, request);
  if (!request.searches()) return;
  static_cast<void>(members.count("max_new_tokens", 1, kMaxOptionTokens));  // at least one
  request.beams.num_return_sequences = request.n;
  if (request.n > request.beams.num_beams) {
    members.reject("num_return_sequences", "expected at most the number of \"num_beams\", ",
                   request.beams.num_beams, ", found ", request.n);
  }
}

// Reads the members that only our own requests have.
void read_own_members(Members& members, GenerationOptions& options, TokenReader& reader) {
  options.prompt_lookup = members.flag("prompt_lookup").value_or(false);
  options.hash_logits = members.flag("hash_logits").value_or(false);
  if (const json* const ids = members.find("stop_tokens")) {
    options.stop_tokens = reader.read_ids(*ids, "stop_tokens");
  }
}

// Throws RequestError for what needs more than the one text that a session has.
void check_session(Members& members, const CompletionRequest& request) {
  const auto refuse = [&](bool is_set, const char* name) {
    if (is_set) members.reject(name, "a session has one text: leave it out");
  };
  refuse(request.searches(), "num_beams");
  refuse(request.n > 1, "num_return_sequences");
  refuse(request.best_of > 1, "best_of");
}

// Reads a request without its prompts and what they need. Our own requests have no "echo" and no
// "stream", because their answers neither begin with the prompt nor come in parts.
void read_settings(Members& members, CompletionRequest& request, const RequestContext& context,
                   bool is_own) {
  read_request_options(members, request, context);
  request.with_logprobs = request.options.top_logprobs.has_value();
  if (!is_own) {
    read_stream_members(members, request);
    request.echo = members.flag("echo").value_or(false);
  }
  read_beams(members, request, context);
  if (context.session) check_session(members, request);
  request.with_token_ids =
      members.flag("return_token_ids").value_or(false) || !context.tokenizer;  // vLLM's
}

// Reads "prompt" or, in our own requests, "token_ids". OpenAI's default of a prompt that is null is
// the end-of-text token, which begins a new text.
std::vector<std::vector<TokenId>> read_prompts(const json& body, Members& members,
                                               TokenReader& reader, std::size_t most, bool is_own) {
  if (is_own && members.has("token_ids")) return {reader.read_member(members, "prompt")};
  if (body.contains("prompt") && !members.has("prompt"))
    return std::vector(1, std::vector<TokenId>());
  return reader.read_list(members.need("prompt"), "prompt", most);
}

CompletionRequest read_request(const json& body, const RequestContext& context, bool is_own) {
  CompletionRequest request = {.options = request_defaults(is_own)};
  Members members = Members::of_request(body, context.defaults);
  members.ignore({"user", "metadata", "store", "prompt_cache_key", "safety_identifier"});
  static_cast<void>(members.text("model"));
  if (members.text("suffix").value_or("") != "") {
    members.reject("suffix", "the model continues texts and cannot insert into them: remove it");
  }
  TokenReader reader = {context.tokenizer, context.config.vocab_size};
  reader.read_settings(members);
  reader.add_special_tokens = !context.session || context.session->position == 0;
  const auto prompts = read_prompts(body, members, reader, context.max_prompts, is_own);
  request.lost_bytes = reader.lost_bytes;
  if (is_own) read_own_members(members, request.options, reader);
  read_settings(members, request, context, is_own);
  PromptFit fit;
  fit.read(members, context.config.n_positions);
  members.refuse_others();
  for (const std::vector<TokenId>& tokens : prompts) add_prompt(request, tokens, fit, context);
  return request;
}

// Handles a prompt that is longer than the context. With `truncate`, removes tokens from its
// beginning, so that there is room for max_new_tokens or, if the context is not larger than that,
// for one token. Without `truncate`, throws RequestError about `param`, the member that has the
// prompt. Returns how many tokens were removed.
std::size_t fit_context(std::vector<TokenId>& tokens, bool truncate, std::size_t max_new_tokens,
                        std::size_t n_positions, const char* param) {
  if (tokens.size() <= n_positions) return 0;
  if (!truncate) {
    throw RequestError(
        concat("the prompt has ", tokens.size(), " tokens, but the model takes at most ",
               n_positions, ": shorten it, or give \"truncate\" to leave out its beginning"),
        param, RequestError::kTooLong);
  }
  const std::size_t room = max_new_tokens < n_positions ? max_new_tokens : 1;
  const std::size_t kept = std::max<std::size_t>(n_positions - room, 1);
  const std::size_t removed = tokens.size() - kept;
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(removed));
  return removed;
}

// Returns how many tokens may follow the prompt if the prompt and the text may have `max_length`
// tokens together. Throws RequestError if there is no room for any.
std::size_t new_tokens(std::size_t max_length, std::size_t prompt_tokens) {
  if (max_length > prompt_tokens) return max_length - prompt_tokens;
  reject_member("max_length", "expected more than the number of the prompt's tokens, ",
                prompt_tokens, ", found ", max_length, ": give \"max_new_tokens\"");
}

// Returns how many tokens a prompt that follows a session's text may have if it loses its
// beginning.
std::size_t room_in(const SessionRoom& session, const GenerationOptions& options) {
  const std::size_t used = options.overflow == Overflow::slide ? options.keep : session.position;
  return used < session.capacity ? session.capacity - used : 1;
}

}  // namespace

// A constant of the class would be made when the program starts, in programs without requests, too.
const json& RequestContext::no_defaults() {
  static const json none = json::object();
  return none;
}

void CompletionRequest::set_draft(const Model& model) {
  if (searches()) {
    throw RequestError("draft: cannot be combined with \"num_beams\": give only one of them",
                       "draft");
  }
  options.draft = model;
}

GenerationOptions request_defaults(bool is_own) {
  GenerationOptions options = {.sampling = {.temperature = 0.8f, .top_k = 40}};
  if (!is_own) options.max_new_tokens = 16;
  return options;
}

void read_request_options(Members& members, CompletionRequest& request,
                          const RequestContext& context,
                          std::initializer_list<std::string_view> left_out) {
  const json* const seed = members.find("seed");
  request.draws_seed = seed != nullptr && is_text(*seed, "random");
  std::vector<std::string_view> rows(left_out);
  if (request.draws_seed) {
    request.options.sampling.seed = random_seed();
    rows.emplace_back("seed");
  }
  const Config& config = context.config;
  read_options(members, request.options, config.vocab_size, rows);
  // A slide makes room for a token of the prompt and for a new one.
  static_cast<void>(members.count("keep", 0, std::max<std::size_t>(config.n_positions, 2) - 2));
  if (std::ranges::count(rows, std::string_view("logprobs")) == 0) {
    static_cast<void>(members.count("logprobs", 0, config.vocab_size));
  }
  read_bad_words(members, request.options.sampling, context.tokenizer);
}

void read_stream_members(Members& members, CompletionRequest& request) {
  request.stream = members.flag("stream").value_or(false);
  if (const json* const options = members.find("stream_options")) {
    if (!request.stream) members.reject("stream_options", "needs \"stream\": true");
    if (!options->is_object()) members.refuse("stream_options", "an object");
    Members stream(*options, "stream_options.");
    stream.ignore({"include_obfuscation"});
    request.include_usage = stream.flag("include_usage").value_or(false);
    stream.refuse_others();
  }
}

void PromptFit::read(Members& members, std::size_t n_positions) {
  truncate = members.flag("truncate").value_or(truncate);
  max_length = members.count("max_length", 0, kMaxOptionTokens);
  has_max_new_tokens = members.find("max_new_tokens") != nullptr;
  if (has_max_new_tokens && max_length != n_positions) max_length.reset();
}

void add_prompt(CompletionRequest& request, std::vector<TokenId> tokens, const PromptFit& fit,
                const RequestContext& context) {
  CompletionPrompt prompt = {.tokens = std::move(tokens),
                             .max_new_tokens = request.options.max_new_tokens};
  prompt.is_empty = prompt.tokens.empty();
  const std::size_t before = context.session ? context.session->position : 0;
  if (prompt.is_empty && before == 0) {
    prompt.tokens = {first_token(context.tokenizer, context.config)};
  }
  const std::size_t room = context.session && fit.truncate
                               ? room_in(*context.session, request.options)
                               : context.config.n_positions;
  request.truncated +=
      fit_context(prompt.tokens, fit.truncate, prompt.max_new_tokens, room, fit.name);
  if (fit.max_length) {
    const std::size_t left = new_tokens(*fit.max_length, before + prompt.tokens.size());
    prompt.max_new_tokens = fit.has_max_new_tokens ? std::min(prompt.max_new_tokens, left) : left;
  }
  request.prompts.push_back(std::move(prompt));
}

CompletionRequest read_generate_request(const json& body, const RequestContext& context) {
  return read_request(body, context, /*is_own=*/true);
}

CompletionRequest read_completion_request(const json& body, const RequestContext& context) {
  return read_request(body, context, /*is_own=*/false);
}

}  // namespace gpt2
