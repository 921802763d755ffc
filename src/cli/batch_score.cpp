#include "cli/batch_score.h"

#include <algorithm>
#include <tuple>

#include "cli/batch_input.h"

namespace gpt2::cli {
namespace {

struct Interrupted {};

std::vector<Json> score_texts(const Engine& engine, const ScoreRecords& records,
                              std::span<const ScoreRequest* const> requests,
                              const std::function<void(double)>& check_interrupts) {
  std::vector<std::vector<TokenId>> texts;
  for (const ScoreRequest* const request : requests) texts.push_back(request->text);
  ScoreOptions options = requests.front()->options;
  options.progress = check_interrupts;
  const std::vector<TextScore> scores = score(engine, texts, options);
  std::vector<Json> result;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    result.push_back(
        records.text_record(texts[i], scores[i], options, requests[i]->with_logprobs));
  }
  return result;
}

std::vector<Json> score_questions(const Engine& engine, const ScoreRecords& records,
                                  std::span<const ScoreRequest* const> requests,
                                  const std::function<void(double)>& check_interrupts) {
  std::vector<ChoiceQuestion> questions;
  for (const ScoreRequest* const request : requests) questions.push_back(*request->question);
  const auto scores = score_choices(engine, questions, 0, check_interrupts);
  std::vector<Json> result;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    result.push_back(records.question_record(questions[i], scores[i]));
  }
  return result;
}

}  // namespace

bool ScoreRequest::has_same_options(const ScoreRequest& other) const {
  const auto key = [](const ScoreRequest& request) {
    const ScoreOptions& o = request.options;
    return std::tuple(request.question.has_value(), o.context, o.stride, o.top_logprobs);
  };
  return key(*this) == key(other);
}

ScoreRequest read_score_request(Members& members, const TokenReader& reader, const Config& config,
                                std::optional<std::size_t> top_logprobs) {
  ScoreRequest request;
  if (members.find("choices") != nullptr) {
    request.question = read_question(members, reader, config);
    return request;
  }
  request.text = reader.read_json(members.need("text"), "text");
  check_scored_length(request.text);
  const std::size_t most = std::min(kMaxLogprobs, config.vocab_size);
  if (const auto count = members.count("logprobs", 0, most)) top_logprobs = count;
  request.with_logprobs = top_logprobs.has_value();
  ScoreOptions& options = request.options;
  options.top_logprobs = top_logprobs.value_or(0);
  options.context = members.count("context", 2, config.n_positions).value_or(config.n_positions);
  options.stride = members.count("stride", 1, options.context).value_or(0);
  options = options.resolved(config);
  return request;
}

std::vector<Json> score_requests(const Engine& engine, const ScoreRecords& records,
                                 std::span<const ScoreRequest* const> requests) {
  const auto check_interrupts = [](double) {
    if (interrupted()) throw Interrupted();
  };
  try {
    return requests.front()->question
               ? score_questions(engine, records, requests, check_interrupts)
               : score_texts(engine, records, requests, check_interrupts);
  } catch (const Interrupted&) {
    return {};
  }
}

}  // namespace gpt2::cli
