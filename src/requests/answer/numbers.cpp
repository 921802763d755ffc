#include "requests/answer/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/bytes.h"

namespace gpt2 {
namespace {

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
    text.add("logprobs", logprobs_json(tokenizer, request.texts[index], score.tokens));
  }
  return text;
}

Json texts_json(const ScoringRequest& request, std::span<const TextScore> scores,
                const std::optional<Tokenizer>& tokenizer) {
  const std::span<const std::vector<TokenId>> ids(request.texts);
  Json result = perplexity_json(perplexity_of(scores, ids, tokenizer), request.options);
  Json texts = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Perplexity found = perplexity_of(scores.subspan(i, 1), ids.subspan(i, 1), tokenizer);
    texts.push_back(text_json(request, found, scores[i], i, tokenizer));
  }
  result.add("texts", texts);
  return result;
}

// Returns the index of the first one of the largest numbers.
std::size_t best_of(const std::vector<double>& numbers) {
  return static_cast<std::size_t>(std::ranges::max_element(numbers) - numbers.begin());
}

Json choices_json(const ScoringRequest& request, std::span<const ChoiceScore> scores,
                  const std::optional<Tokenizer>& tokenizer) {
  Json choices = Json::array();
  std::vector<double> sums, means, by_byte;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::vector<TokenId>& ids = request.question.choices[i];
    sums.push_back(scores[i].sum);
    means.push_back(scores[i].mean);
    Json choice = {{"tokens", ids.size()}, {"logprob", sums[i]}, {"logprob_per_token", means[i]}};
    if (tokenizer) {
      by_byte.push_back(sums[i] / static_cast<double>(tokenizer->decode(ids).size()));
      choice.add("logprob_per_byte", by_byte[i]);
    }
    choice.add("greedy_match", scores[i].greedy_match);
    if (request.with_logprobs) {
      choice.add("logprobs", logprobs_json(tokenizer, ids, scores[i].tokens));
    }
    choices.push_back(choice);
  }
  Json result = {{"best", best_of(sums)}, {"best_per_token", best_of(means)}};
  if (tokenizer) result.add("best_per_byte", best_of(by_byte));
  result.add("choices", choices);
  return result;
}

void normalize(std::vector<float>& vector) {
  double square = 0.0;
  for (const float number : vector) square += static_cast<double>(number) * number;
  if (square == 0.0) return;
  const double length = std::sqrt(square);
  for (float& number : vector) number = static_cast<float>(number / length);
}

}  // namespace

Json likely_json(const std::optional<Tokenizer>& tokenizer, TokenId id, float logprob) {
  Json token = {{"id", id}};
  if (tokenizer) token.add("text", tokenizer->bytes(id));
  token.add("logprob", logprob);
  return token;
}

Json logprob_json(const std::optional<Tokenizer>& tokenizer, TokenId id,
                  const TokenLogprob& score) {
  Json token = likely_json(tokenizer, id, score.logprob);
  token.add("rank", std::isnan(score.logprob) ? Json() : Json(score.rank));
  Json top = Json::array();
  for (const auto& [other, logprob] : score.top) {
    top.push_back(likely_json(tokenizer, other, logprob));
  }
  token.add("top", top);
  return token;
}

Json logprobs_json(const std::optional<Tokenizer>& tokenizer, std::span<const TokenId> tokens,
                   std::span<const TokenLogprob> scores) {
  Json list = Json::array();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    list.push_back(logprob_json(tokenizer, tokens[i], scores[i]));
  }
  return list;
}

std::string base64(std::string_view bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

Json scoring_json(const ScoringRequest& request, const ScoringResult& result, const Model& model,
                  const std::optional<Tokenizer>& tokenizer) {
  if (request.is_question()) return choices_json(request, result.choices, tokenizer);
  if (!request.is_one) return texts_json(request, result.texts, tokenizer);
  const TextScore& score = result.texts.front();
  const Perplexity found = checked_perplexity(model, tokenizer, request.texts.front(), score);
  return text_json(request, found, score, 0, tokenizer);
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
    record.add(name, number.value);
    record.add(concat(name, "_error"), number.standard_error);
  }
  record.add("hf_weighted_perplexity", found.hf_weighted);
  record.add("hf_unweighted_perplexity", found.hf_unweighted);
  return record;
}

Json vector_json(const std::vector<float>& vector, bool is_base64) {
  // The floats lie in little-endian order (base/bytes.h).
  if (is_base64) return base64(text_of(std::as_bytes(std::span(vector))));
  return vector;
}

Json embedding_json(const EmbeddingRequest& request, const std::string& model,
                    std::vector<std::vector<float>> vectors) {
  Json data = Json::array();
  const std::size_t tokens = request.tokens();
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    normalize(vectors[i]);
    data.push_back(Json{{"object", "embedding"},
                        {"index", i},
                        {"embedding", vector_json(vectors[i], request.is_base64)}});
  }
  return {{"object", "list"},
          {"data", data},
          {"model", model},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
}

}  // namespace gpt2
