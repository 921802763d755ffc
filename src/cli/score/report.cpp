#include "cli/score/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fail.h"
#include "base/text.h"

namespace gpt2::cli {
namespace {

std::string in_words(const Estimate& number) {
  const std::string value = format("%.6g", number.value);
  if (std::isnan(number.standard_error)) return value;
  return value + format(" +- %.2g", number.standard_error);
}

// Returns the index of the first choice with the largest number.
std::size_t best_by(const Json& choices, const char* number) {
  const auto best = std::ranges::max_element(
      choices, {}, [number](const Json& choice) { return choice[number].get<double>(); });
  return static_cast<std::size_t>(best - choices.begin());
}

Json choices_json(std::span<const ChoiceScore> scores, std::span<const std::size_t> bytes) {
  Json choices = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Json& choice = choices.emplace_back(Json{{"tokens", scores[i].tokens.size()},
                                             {"logprob", scores[i].sum},
                                             {"logprob_per_token", scores[i].mean}});
    if (!bytes.empty()) {
      choice["logprob_per_byte"] = scores[i].sum / static_cast<double>(bytes[i]);
    }
    choice["greedy_match"] = scores[i].greedy_match;
  }
  Json result = {{"best", best_by(choices, "logprob")},
                 {"best_per_token", best_by(choices, "logprob_per_token")}};
  if (!bytes.empty()) result["best_per_byte"] = best_by(choices, "logprob_per_byte");
  result["choices"] = std::move(choices);
  return result;
}

}  // namespace

Json perplexity_json(const Perplexity& found, const ScoreOptions& options) {
  Json json = {{"tokens", found.tokens},   {"words", found.words},       {"bytes", found.bytes},
               {"windows", found.windows}, {"context", options.context}, {"stride", options.stride},
               {"logprob", -found.nll}};
  for (const auto& [name, number] : {std::pair{"perplexity", found.by_token},
                                     {"word_perplexity", found.by_word},
                                     {"byte_perplexity", found.by_byte},
                                     {"bits_per_byte", found.bits_per_byte}}) {
    json[name] = number.value;
    json[std::string(name) + "_error"] = number.standard_error;
  }
  json["hf_weighted_perplexity"] = found.hf_weighted;
  json["hf_unweighted_perplexity"] = found.hf_unweighted;
  return json;
}

std::string perplexity_in_words(const Perplexity& found, const ScoreOptions& options) {
  std::string text =
      concat("tokens         ", found.tokens, " in ", counted(found.windows, "window"), " of ",
             options.context, " tokens, stride ", options.stride, "\n");
  text += "perplexity     " + in_words(found.by_token) + " by token\n";
  if (found.bytes > 0) {
    if (found.words > 0) {
      text += "               " + in_words(found.by_word) + " by word (" +
              counted(found.words, "word") + ")\n";
    }
    text += "               " + in_words(found.by_byte) + " by byte (" +
            counted(found.bytes, "byte") + ")\n";
    text += "bits per byte  " + in_words(found.bits_per_byte) + '\n';
  }
  return text + format("HuggingFace    %.6g by its current recipe, %.6g by its older one\n",
                       found.hf_weighted, found.hf_unweighted);
}

void ScoreRecords::check(const Perplexity& found) const {
  if (std::isfinite(found.nll)) return;
  throw Error(ErrorCode::invalid_file,
              model_.description().files.back().string() +
                  ": expected finite log-probabilities, found NaN or infinity: the weights are "
                  "damaged");
}

Json ScoreRecords::text_record(const std::vector<TokenId>& text, const TextScore& score,
                               const ScoreOptions& options, bool with_logprobs) const {
  const Perplexity found =
      tokenizer_ ? perplexity({&score, 1}, {&text, 1}, *tokenizer_) : perplexity({&score, 1});
  check(found);
  Json record = perplexity_json(found, options);
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
