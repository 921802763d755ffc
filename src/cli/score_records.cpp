#include "cli/score_records.h"

#include <cmath>

#include "cli/logprob_json.h"
#include "cli/score_report.h"

namespace gpt2::cli {

void check_scored_length(std::span<const TokenId> text) {
  if (text.size() >= 2) return;
  refuse(
      format("expected a text of two tokens or more, because nothing predicts the first one; "
             "found %zu",
             text.size()));
}

ChoiceQuestion read_question(Members& members, const TokenReader& reader, const Config& config) {
  ChoiceQuestion question = {reader.read_json(members.need("context"), "context"), {}};
  const nlohmann::json& choices = members.need("choices");
  if (!choices.is_array() || choices.empty()) {
    refuse(std::string("choices: expected a list with a choice or more, found ") +
           (choices.is_array() ? "none" : choices.type_name()));
  }
  for (const nlohmann::json& choice : choices) {
    const std::string name = format("choices[%zu]", question.choices.size());
    question.choices.push_back(reader.read_json(choice, name));
  }
  question.check(config);
  return question;
}

std::size_t size_of(const ChoiceQuestion& question) {
  std::size_t tokens = question.context.size();
  for (const auto& choice : question.choices) tokens += choice.size();
  return tokens;
}

Perplexity ScoreRecords::perplexity(const std::vector<TokenId>& text,
                                    const TextScore& score) const {
  const Perplexity found = tokenizer_ ? gpt2::perplexity({&score, 1}, {&text, 1}, *tokenizer_)
                                      : gpt2::perplexity({&score, 1});
  if (std::isfinite(found.nll)) return found;
  throw Error(ErrorCode::invalid_file,
              model_.description().files.back().string() +
                  ": expected finite log-probabilities, found NaN or infinity: the weights are "
                  "damaged");
}

Json ScoreRecords::text_record(const std::vector<TokenId>& text, const TextScore& score,
                               const ScoreOptions& options, bool with_logprobs) const {
  Json record = perplexity_json(perplexity(text, score), options);
  if (with_logprobs) record["logprobs"] = logprobs_json(tokenizer_, text, score.tokens);
  return record;
}

Json ScoreRecords::question_record(const ChoiceQuestion& question,
                                   std::span<const ChoiceScore> scores) const {
  std::vector<std::size_t> bytes;
  if (tokenizer_) {
    for (const auto& choice : question.choices) bytes.push_back(tokenizer_->decode(choice).size());
  }
  return choices_json(scores, bytes);
}

}  // namespace gpt2::cli
