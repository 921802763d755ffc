#include "requests/read/text_requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/fail.h"
#include "base/text.h"
#include "requests/read/options.h"

namespace gpt2 {
namespace {

using nlohmann::json;

TokenReader reader_of(Members& members, const RequestContext& context) {
  members.ignore({"model", "user", "id"});
  TokenReader reader = {context.tokenizer, context.config.vocab_size};
  reader.read_settings(members);
  reader.read_bos(members, context.config);
  return reader;
}

void read_logprobs(Members& members, const Config& config, ScoringRequest& request) {
  const auto top = members.count("logprobs", 0, std::min(kMaxLogprobs, config.vocab_size));
  if (!top) return;
  request.with_logprobs = true;
  request.options.top_logprobs = *top;
}

// Reads the members that only texts have.
void read_text_options(Members& members, const Config& config, ScoringRequest& request) {
  read_logprobs(members, config, request);
  ScoreOptions& options = request.options;
  options.context = members.count("context", 2, config.n_positions).value_or(config.n_positions);
  options.stride = members.count("stride", 1, options.context).value_or(0);
  options = options.resolved(config);
}

using ChangeKind = PassChange::Kind;

constexpr ChangeKind kChangeKinds[] = {ChangeKind::skip_layer, ChangeKind::skip_head,
                                       ChangeKind::skip_mlp, ChangeKind::identity_norm};

// Reads the member with the changes of a kind. A place that is a whole number may be one of JSON.
void read_changes(InspectionRequest& request, Members& members, ChangeKind kind,
                  const Config& config) {
  const std::string name = PassChange::kNames[static_cast<std::size_t>(kind)];
  const json* const places = members.find(name);
  if (places == nullptr) return;
  if (!places->is_array()) members.refuse(name, "a list of places");
  for (const json& place : *places) {
    if (!place.is_string() && !place.is_number_unsigned()) {
      members.refuse(name, "a list of places");
    }
    const std::string text = place.is_string() ? place.get<std::string>() : place.dump();
    try {
      request.changes.push_back(read_change(kind, text, config, name));
    } catch (const Error& error) {
      throw RequestError(error.what(), name);
    }
  }
}

ChoiceQuestion read_question(Members& members, TokenReader& reader, const Config& config) {
  ChoiceQuestion question = {reader.with_bos(reader.read_json(members.need("context"), "context")),
                             {}};
  const nlohmann::json& choices = members.need("choices");
  if (!choices.is_array() || choices.empty()) {
    members.reject("choices", "expected a list with a choice or more, found ",
                   choices.is_array() ? "none" : choices.type_name());
  }
  for (const nlohmann::json& choice : choices) {
    const std::string name = concat("choices[", question.choices.size(), "]");
    question.choices.push_back(reader.read_json(choice, name));
  }
  question.check(config);
  return question;
}

void check_scored_length(std::size_t tokens) {
  if (tokens >= 2) return;
  throw RequestError(concat("expected a text of two tokens or more, because nothing predicts the "
                            "first one; found ",
                            tokens),
                     "text");
}

}  // namespace

std::size_t ScoringRequest::tokens() const {
  std::size_t tokens = question.context.size();
  for (const auto& choice : question.choices) tokens += choice.size();
  for (const auto& text : texts) tokens += text.size();
  return tokens;
}

bool ScoringRequest::has_same_options(const ScoringRequest& other) const {
  const auto key = [](const ScoringRequest& request) {
    const ScoreOptions& o = request.options;
    return std::tuple(request.is_question(), o.context, o.stride, o.top_logprobs);
  };
  return key(*this) == key(other);
}

ScoringRequest read_texts_to_score(const json& body, const RequestContext& context) {
  Members members = Members::of_request(body, context.defaults);
  TokenReader reader = reader_of(members, context);
  ScoringRequest request = {.is_one = members.has("text") || members.has("token_ids")};
  if (!request.is_one && !members.has("texts")) {
    throw RequestError("expected \"texts\", \"text\" or \"token_ids\", found none of them", "texts",
                       RequestError::kMissing);
  }
  request.texts = request.is_one
                      ? std::vector(1, reader.read_member(members, "text"))
                      : reader.read_list(members.need("texts"), "texts", context.max_prompts);
  request.lost_bytes = reader.lost_bytes;
  for (auto& text : request.texts) text = reader.with_bos(std::move(text));
  if (request.is_one) check_scored_length(request.texts[0].size());
  read_text_options(members, context.config, request);
  members.refuse_others();
  return request;
}

ScoringRequest read_choices_to_score(const json& body, const RequestContext& context) {
  Members members = Members::of_request(body, context.defaults);
  TokenReader reader = reader_of(members, context);
  ScoringRequest request = {.question = read_question(members, reader, context.config)};
  request.lost_bytes = reader.lost_bytes;
  read_logprobs(members, context.config, request);
  members.refuse_others();
  return request;
}

std::size_t EmbeddingRequest::tokens() const {
  std::size_t tokens = 0;
  for (const auto& input : inputs) tokens += input.size();
  return tokens;
}

EmbeddingRequest read_embedding_request(const json& body, const RequestContext& context) {
  const Config& config = context.config;
  EmbeddingRequest request;
  Members members = Members::of_request(body, context.defaults);
  members.ignore({"user"});
  static_cast<void>(members.text("model"));
  TokenReader reader = {context.tokenizer, config.vocab_size};
  reader.read_settings(members);
  std::string name = members.has("token_ids") ? "token_ids" : "text";
  if (members.has(name)) {
    request.inputs = {reader.read_member(members, "text")};
  } else {
    name = "input";
    request.inputs = reader.read_list(members.need("input"), "input", context.max_prompts);
  }
  request.lost_bytes = reader.lost_bytes;
  request.is_base64 = members.word("encoding_format", {"float", "base64"}) == 1;
  request.options.pooling = static_cast<Pooling>(members.word("pooling", {"mean", "last"}));
  request.options.layer = members.count("layer", 0, config.n_layer);
  static_cast<void>(members.count("dimensions", config.n_embd, config.n_embd));
  members.refuse_others();
  const bool is_list = request.inputs.size() > 1;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    check_length(request.inputs[i].size(), is_list ? concat("input[", i, "]") : name, config);
  }
  return request;
}

InspectionRequest read_inspection_request(const json& body, const RequestContext& context) {
  InspectionRequest request;
  Members members = Members::of_request(body, context.defaults);
  members.ignore({"model"});
  TokenReader reader = {context.tokenizer, context.config.vocab_size};
  reader.read_settings(members);
  request.tokens = reader.read_json(members.need("prompt"), "prompt");
  request.lost_bytes = reader.lost_bytes;
  request.top = members.count("top", 1, 100).value_or(request.top);
  request.with_attention = members.flag("attention").value_or(true);
  for (const ChangeKind kind : kChangeKinds) read_changes(request, members, kind, context.config);
  members.refuse_others();
  check_length(request.tokens.size(), "prompt", context.config);
  return request;
}

TokensRequest read_tokenize_request(const json& body, const RequestContext& context) {
  Members members = Members::of_request(body, context.defaults);
  members.ignore({"model", "user"});
  TokenReader reader = {context.tokenizer, context.config.vocab_size};
  reader.read_settings(members);
  reader.add_special_tokens = members.flag("add_special_tokens").value_or(true);
  const json& prompt = members.need("prompt");
  const std::vector<TokenId> tokens = reader.read_json(prompt, "prompt");
  const bool with_offsets = members.flag("offsets").value_or(false);
  members.refuse_others();
  TokensRequest request = {
      {{"tokens", tokens}, {"count", tokens.size()}, {"max_model_len", context.config.n_positions}},
      tokens.size(),
      reader.lost_bytes};
  if (!with_offsets) return request;
  if (!prompt.is_string()) members.reject("offsets", "expected a prompt that is a text");
  const EncodedText encoded = context.tokenizer->encode_text(
      prompt.get_ref<const std::string&>(), {.parse_special = !reader.split_special_tokens,
                                             .add_special_tokens = reader.add_special_tokens,
                                             .with_ranges = true});
  Json offsets = Json::array();
  for (const auto& [begin, end] : encoded.ranges) offsets.push_back(Json::array({begin, end}));
  request.answer.add("offsets", offsets);
  return request;
}

TokensRequest read_detokenize_request(const json& body, const RequestContext& context) {
  Members members = Members::of_request(body, context.defaults);
  members.ignore({"model", "user"});
  const TokenReader reader = {context.tokenizer, context.config.vocab_size};
  const std::vector<TokenId> tokens = reader.read_ids(members.need("tokens"), "tokens");
  members.refuse_others();
  if (!context.tokenizer) {
    members.reject("tokens", "the model has no tokenizer that could decode them");
  }
  return {{{"prompt", context.tokenizer->decode(tokens)}}, tokens.size()};
}

}  // namespace gpt2
