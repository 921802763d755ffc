#include "cli/score/request.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/fail.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"

namespace gpt2::cli {
namespace {

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
    result.push_back(records.text_record(texts[i], scores[i], options, requests[i]->with_logprobs));
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

std::size_t ScoreRequest::tokens() const {
  if (!question) return text.size();
  std::size_t tokens = question->context.size();
  for (const auto& choice : question->choices) tokens += choice.size();
  return tokens;
}

bool ScoreRequest::has_same_options(const ScoreRequest& other) const {
  const auto key = [](const ScoreRequest& request) {
    const ScoreOptions& o = request.options;
    return std::tuple(request.question.has_value(), o.context, o.stride, o.top_logprobs);
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

std::vector<Json> score_requests(const Engine& engine, const ScoreRecords& records,
                                 std::span<const ScoreRequest* const> requests) {
  if (requests.empty()) return {};
  const auto check_interrupts = [](double) {
    if (interrupted()) throw Interrupted();
  };
  try {
    return requests.front()->question ? score_questions(engine, records, requests, check_interrupts)
                                      : score_texts(engine, records, requests, check_interrupts);
  } catch (const Interrupted&) {
    return {};
  }
}

}  // namespace gpt2::cli
