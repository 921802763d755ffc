#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gpt2/embed.h"
#include "requests/completion.h"
#include "requests/completion_request.h"

// OpenAI's embeddings API, as https://platform.openai.com/docs/api-reference/embeddings documents
// it.

namespace gpt2 {

/// What a request asks for.
struct EmbeddingRequest {
  std::vector<std::vector<TokenId>> inputs = {};
  EmbedOptions options = {};  ///< "pooling" and "layer", which OpenAI's API does not have
  bool is_base64 = false;     ///< whether vectors are written as base64 of their floats

  [[nodiscard]] std::size_t tokens() const;  ///< of all texts
};

/// Returns the request in the body, which is a JSON object. Throws Error for anything that the API
/// would refuse, and for a text that is empty or longer than the context.
[[nodiscard]] EmbeddingRequest read_embedding_request(const nlohmann::json& body,
                                                      const RequestContext& context);

/// Returns the list of a vector's numbers or, if is_base64, the base64 of its floats.
[[nodiscard]] Json vector_json(const std::vector<float>& vector, bool is_base64);

/// Returns the body of an answer: {"object", "data", "model", "usage"}. As OpenAI's vectors, those
/// of the answer have the length 1.
[[nodiscard]] Json embedding_json(const EmbeddingRequest& request, const std::string& model,
                                  std::vector<std::vector<float>> vectors);

}  // namespace gpt2
