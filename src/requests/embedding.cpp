#include "requests/embedding.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/fail.h"
#include "requests/json_text.h"
#include "requests/tokens.h"

namespace gpt2 {
namespace {

using nlohmann::json;

void normalize(std::vector<float>& vector) {
  double square = 0.0;
  for (const float number : vector) square += static_cast<double>(number) * number;
  if (square == 0.0) return;
  const double length = std::sqrt(square);
  for (float& number : vector) number = static_cast<float>(number / length);
}

}  // namespace

std::size_t EmbeddingRequest::tokens() const {
  std::size_t tokens = 0;
  for (const auto& input : inputs) tokens += input.size();
  return tokens;
}

Json vector_json(const std::vector<float>& vector, bool is_base64) {
  // The floats lie in little-endian order (base/bytes.h).
  if (is_base64) return base64(text_of(std::as_bytes(std::span(vector))));
  Json numbers = Json::array();
  for (const float number : vector) numbers.push_back(short_number(number));
  return numbers;
}

EmbeddingRequest read_embedding_request(const json& body, const RequestContext& context) {
  const Config& config = context.config;
  EmbeddingRequest request;
  Members members(body);
  members.ignore({"user"});
  static_cast<void>(members.text("model"));
  TokenReader reader = {context.tokenizer, config.vocab_size};
  reader.read_settings(members);
  request.inputs = reader.read_list(members.need("input"), "input", context.max_prompts);
  request.is_base64 = members.word("encoding_format", {"float", "base64"}) == 1;
  request.options.pooling = static_cast<Pooling>(members.word("pooling", {"mean", "last"}));
  request.options.layer = members.count("layer", 0, config.n_layer);
  static_cast<void>(members.count("dimensions", config.n_embd, config.n_embd));
  members.refuse_others();
  const bool is_list = request.inputs.size() > 1;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    check_length(request.inputs[i].size(), is_list ? concat("input[", i, "]") : "input", config);
  }
  return request;
}

Json embedding_json(const EmbeddingRequest& request, const std::string& model,
                    std::vector<std::vector<float>> vectors) {
  Json data = Json::array();
  const std::size_t tokens = request.tokens();
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    normalize(vectors[i]);
    data.push_back({{"object", "embedding"},
                    {"index", i},
                    {"embedding", vector_json(vectors[i], request.is_base64)}});
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", model},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
}

}  // namespace gpt2
