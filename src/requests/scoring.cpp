#include "requests/scoring.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/fail.h"
#include "requests/options.h"
#include "requests/tokens.h"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxTexts = 1 << 20;

TokenReader reader_of(const RequestContext& context) {
  return {context.tokenizer, context.config.vocab_size};
}

void read_logprobs(Members& members, const Config& config, ScoringRequest& request) {
  const auto top = members.count("logprobs", 0, std::min(kMaxLogprobs, config.vocab_size));
  request.with_logprobs = top.has_value();
  request.options.top_logprobs = top.value_or(0);
}

void add_estimate(Json& record, const std::string& name, const Estimate& estimate) {
  record[name] = estimate.value;
  record[name + "_error"] = estimate.standard_error;
}

Json perplexity_record(const Perplexity& found) {
  Json record = Json::object();
  record["tokens"] = found.tokens;
  record["words"] = found.words;
  record["bytes"] = found.bytes;
  record["windows"] = found.windows;
  record["logprob"] = -found.nll;
  add_estimate(record, "perplexity", found.by_token);
  add_estimate(record, "word_perplexity", found.by_word);
  add_estimate(record, "byte_perplexity", found.by_byte);
  add_estimate(record, "bits_per_byte", found.bits_per_byte);
  return record;
}

Json texts_json(const ScoringRequest& request, std::span<const TextScore> scores,
                const std::optional<Tokenizer>& tokenizer) {
  const auto found = [&](std::size_t first, std::size_t count) {
    const auto some = scores.subspan(first, count);
    return tokenizer ? perplexity(some, std::span(request.texts).subspan(first, count), *tokenizer)
                     : perplexity(some);
  };
  Json result = perplexity_record(found(0, scores.size()));
  Json& texts = result["texts"] = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Json& text = texts.emplace_back(perplexity_record(found(i, 1)));
    if (request.with_logprobs) {
      text["logprobs"] = logprobs_json(tokenizer, request.texts[i], scores[i].tokens);
    }
  }
  return result;
}

// Returns the index of the first choice with the largest number.
std::size_t best_by(const Json& choices, const char* number) {
  const auto best = std::ranges::max_element(
      choices, {}, [number](const Json& choice) { return choice[number].get<double>(); });
  return static_cast<std::size_t>(best - choices.begin());
}

Json choices_json(const ScoringRequest& request, std::span<const ChoiceScore> scores,
                  const std::optional<Tokenizer>& tokenizer) {
  Json choices = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::vector<TokenId>& ids = request.question.choices[i];
    Json& choice = choices.emplace_back(Json::object());
    choice["tokens"] = ids.size();
    choice["logprob"] = scores[i].sum;
    choice["logprob_per_token"] = scores[i].mean;
    if (tokenizer) {
      choice["logprob_per_byte"] =
          scores[i].sum / static_cast<double>(tokenizer->decode(ids).size());
    }
    choice["greedy_match"] = scores[i].greedy_match;
    if (request.with_logprobs) {
      choice["logprobs"] = logprobs_json(tokenizer, ids, scores[i].tokens);
    }
  }
  Json result = Json::object();
  result["best"] = best_by(choices, "logprob");
  result["best_per_token"] = best_by(choices, "logprob_per_token");
  if (tokenizer) result["best_per_byte"] = best_by(choices, "logprob_per_byte");
  result["choices"] = std::move(choices);
  return result;
}

}  // namespace

ScoringRequest read_texts_to_score(const json& body, const RequestContext& context) {
  ScoringRequest request;
  Members members(body);
  request.texts = reader_of(context).read_list(members.need("texts"), "texts", kMaxTexts);
  read_logprobs(members, context.config, request);
  const std::size_t n_positions = context.config.n_positions;
  request.options.context = members.count("context", 2, n_positions).value_or(n_positions);
  request.options.stride = members.count("stride", 1, request.options.context).value_or(0);
  request.options = request.options.resolved(context.config);
  members.refuse_others();
  return request;
}

ScoringRequest read_choices_to_score(const json& body, const RequestContext& context) {
  ScoringRequest request;
  Members members(body);
  request.question.context = reader_of(context).read_json(members.need("context"), "context");
  const json& choices = members.need("choices");
  if (!choices.is_array() || choices.empty()) {
    members.refuse("choices", "a list with a choice or more");
  }
  for (const json& choice : choices) {
    const std::string name = concat("choices[", request.question.choices.size(), "]");
    request.question.choices.push_back(reader_of(context).read_json(choice, name));
  }
  request.question.check(context.config);
  read_logprobs(members, context.config, request);
  members.refuse_others();
  return request;
}

ScoringResult run_scoring(const Engine& engine, const ScoringRequest& request,
                          const std::function<void(double)>& progress) {
  if (!request.question.choices.empty()) {
    return {.choices = score_choices(engine, {&request.question, 1}, request.options.top_logprobs,
                                     progress)
                           .front()};
  }
  ScoreOptions options = request.options;
  options.progress = progress;
  return {.texts = score(engine, request.texts, options)};
}

Json scoring_json(const ScoringRequest& request, const ScoringResult& result,
                  const std::optional<Tokenizer>& tokenizer) {
  return result.choices.empty() ? texts_json(request, result.texts, tokenizer)
                                : choices_json(request, result.choices, tokenizer);
}

}  // namespace gpt2
