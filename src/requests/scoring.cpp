#include "requests/scoring.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "base/fail.h"
#include "requests/options.h"

namespace gpt2 {
namespace {

using nlohmann::json;

TokenReader reader_of(Members& members, const RequestContext& context) {
  TokenReader reader = {context.tokenizer, context.config.vocab_size};
  reader.read_settings(members);
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

Perplexity perplexity_of(std::span<const TextScore> scores,
                         std::span<const std::vector<TokenId>> texts,
                         const std::optional<Tokenizer>& tokenizer) {
  return tokenizer ? perplexity(scores, texts, *tokenizer) : perplexity(scores);
}

// Returns the JSON of one of the request's texts.
Json text_json(const ScoringRequest& request, const Perplexity& found, const TextScore& score,
               std::size_t index, const std::optional<Tokenizer>& tokenizer) {
  Json text = perplexity_json(found, request.options);
  if (request.with_logprobs) {
    text["logprobs"] = logprobs_json(tokenizer, request.texts[index], score.tokens);
  }
  return text;
}

Json texts_json(const ScoringRequest& request, std::span<const TextScore> scores,
                const std::optional<Tokenizer>& tokenizer) {
  const std::span<const std::vector<TokenId>> ids(request.texts);
  Json result = perplexity_json(perplexity_of(scores, ids, tokenizer), request.options);
  Json& texts = result["texts"] = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Perplexity found = perplexity_of(scores.subspan(i, 1), ids.subspan(i, 1), tokenizer);
    texts.push_back(text_json(request, found, scores[i], i, tokenizer));
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

void check_scored_length(std::size_t tokens) {
  if (tokens >= 2) return;
  reject("expected a text of two tokens or more, because nothing predicts the first one; found ",
         tokens);
}

ChoiceQuestion read_question(Members& members, const TokenReader& reader, const Config& config) {
  ChoiceQuestion question = {reader.read_json(members.need("context"), "context"), {}};
  const nlohmann::json& choices = members.need("choices");
  if (!choices.is_array() || choices.empty()) {
    reject("choices: expected a list with a choice or more, found ",
           choices.is_array() ? "none" : choices.type_name());
  }
  for (const nlohmann::json& choice : choices) {
    const std::string name = concat("choices[", question.choices.size(), "]");
    question.choices.push_back(reader.read_json(choice, name));
  }
  question.check(config);
  return question;
}

ScoringRequest read_texts_to_score(const json& body, const RequestContext& context) {
  Members members(body);
  ScoringRequest request = {
      .texts = reader_of(members, context)
                   .read_list(members.need("texts"), "texts", context.max_prompts)};
  read_text_options(members, context.config, request);
  members.refuse_others();
  return request;
}

ScoringRequest read_choices_to_score(const json& body, const RequestContext& context) {
  Members members(body);
  ScoringRequest request = {
      .question = read_question(members, reader_of(members, context), context.config)};
  read_logprobs(members, context.config, request);
  members.refuse_others();
  return request;
}

ScoringRequest read_line_to_score(Members& members, const TokenReader& reader, const Config& config,
                                  std::optional<std::size_t> top_logprobs) {
  const bool is_question = members.find("choices") != nullptr;
  for (const char* const prompt : {"prompt", "token_ids"}) {
    if (members.find(prompt) == nullptr) continue;
    reject("\"", prompt, "\", which is continued, and \"", is_question ? "choices" : "text",
           "\", which is scored, exclude each other: remove one of them");
  }
  ScoringRequest request;
  if (is_question) {
    request.question = read_question(members, reader, config);
  } else {
    request.texts = {reader.read_json(members.need("text"), "text")};
    check_scored_length(request.texts[0].size());
    request.with_logprobs = top_logprobs.has_value();
    request.options.top_logprobs = top_logprobs.value_or(0);
    read_text_options(members, config, request);
  }
  members.refuse_others();
  return request;
}

std::vector<ScoringResult> run_scoring(const Engine& engine,
                                       std::span<const ScoringRequest* const> requests,
                                       const std::function<void(double)>& progress) {
  std::vector<ScoringResult> results;
  if (requests.empty()) return results;
  ScoreOptions options = requests.front()->options;
  if (requests.front()->is_question()) {
    std::vector<ChoiceQuestion> questions;
    for (const ScoringRequest* const request : requests) questions.push_back(request->question);
    for (auto& scores : score_choices(engine, questions, options.top_logprobs, progress)) {
      results.push_back({.choices = std::move(scores)});
    }
    return results;
  }
  std::vector<std::vector<TokenId>> texts;
  for (const ScoringRequest* const request : requests) {
    texts.insert(texts.end(), request->texts.begin(), request->texts.end());
  }
  options.progress = progress;
  std::vector<TextScore> scores = score(engine, texts, options);
  auto next = std::make_move_iterator(scores.begin());
  for (const ScoringRequest* const request : requests) {
    const auto begin = next;
    next += static_cast<std::ptrdiff_t>(request->texts.size());
    results.push_back({.texts = {begin, next}});
  }
  return results;
}

Json scoring_json(const ScoringRequest& request, const ScoringResult& result,
                  const std::optional<Tokenizer>& tokenizer) {
  if (!request.is_question()) return texts_json(request, result.texts, tokenizer);
  return choices_json(request, result.choices, tokenizer);
}

std::vector<Json> score_lines(const Engine& engine, const std::optional<Tokenizer>& tokenizer,
                              std::span<const ScoringRequest* const> lines,
                              const std::function<void(double)>& progress) {
  std::vector<Json> records;
  for (const ScoringResult& result : run_scoring(engine, lines, progress)) {
    const ScoringRequest& line = *lines[records.size()];
    if (line.is_question()) {
      records.push_back(scoring_json(line, result, tokenizer));
    } else {
      const TextScore& score = result.texts.front();
      const Perplexity found =
          checked_perplexity(engine.model(), tokenizer, line.texts.front(), score);
      records.push_back(text_json(line, found, score, 0, tokenizer));
    }
  }
  return records;
}

Perplexity checked_perplexity(const Model& model, const std::optional<Tokenizer>& tokenizer,
                              const std::vector<TokenId>& text, const TextScore& score) {
  const Perplexity found = perplexity_of({&score, 1}, {&text, 1}, tokenizer);
  if (std::isfinite(found.nll)) return found;
  throw Error(ErrorCode::invalid_file,
              model.description().files.back().string() +
                  ": expected finite log-probabilities, found NaN or infinity: the weights are "
                  "damaged");
}

Json perplexity_json(const Perplexity& found, const ScoreOptions& options) {
  Json record = {{"tokens", found.tokens},     {"words", found.words},
                 {"bytes", found.bytes},       {"windows", found.windows},
                 {"context", options.context}, {"stride", options.stride},
                 {"logprob", -found.nll}};
  for (const auto& [name, number] : {std::pair{"perplexity", found.by_token},
                                     {"word_perplexity", found.by_word},
                                     {"byte_perplexity", found.by_byte},
                                     {"bits_per_byte", found.bits_per_byte}}) {
    record[name] = number.value;
    record[std::string(name) + "_error"] = number.standard_error;
  }
  record["hf_weighted_perplexity"] = found.hf_weighted;
  record["hf_unweighted_perplexity"] = found.hf_unweighted;
  return record;
}

}  // namespace gpt2
