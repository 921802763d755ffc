#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "gpt2/embed.h"
#include "gpt2/inspect.h"
#include "gpt2/pass_change.h"
#include "gpt2/score.h"
#include "requests/read/completion_request.h"
#include "requests/read/members.h"
#include "requests/read/tokens.h"

// Requests about texts that are not continued: to score them, to turn them into vectors, and to
// inspect one; and what the runs of these requests find.

namespace gpt2 {

/// Texts to score, or a question whose choices are to be compared.
struct ScoringRequest {
  std::vector<std::vector<TokenId>> texts = {};
  ChoiceQuestion question = {};  ///< without choices if there are texts
  ScoreOptions options = {};     ///< resolved, without `progress`
  bool is_one = false;           ///< whether the answer is that of the only text
  bool with_logprobs = false;    ///< whether the result has the log-probability of each token
  std::size_t lost_bytes = 0;    ///< for which the vocabulary has no tokens

  [[nodiscard]] bool is_question() const noexcept { return !question.choices.empty(); }

  /// The number of tokens of the texts, or of the context and all choices.
  [[nodiscard]] std::size_t tokens() const;

  /// Whether run_scoring() can score both in one call.
  [[nodiscard]] bool has_same_options(const ScoringRequest& other) const;
};

struct ScoringResult {
  std::vector<TextScore> texts = {};
  std::vector<ChoiceScore> choices = {};
};

/// Reads {"texts": a text or token ids, or a list of these, "context": tokens of a window,
/// "stride": tokens, "logprobs": number, "add_bos": bool}. A single text, which needs two tokens,
/// may be the member "text" or "token_ids" instead. Throws RequestError for any other object.
[[nodiscard]] ScoringRequest read_texts_to_score(const nlohmann::json& body,
                                                 const RequestContext& context);

/// Reads {"context": a text or token ids, "choices": a list of these, "logprobs": number,
/// "add_bos": bool}. Throws RequestError for any other object, and if a choice is too long.
[[nodiscard]] ScoringRequest read_choices_to_score(const nlohmann::json& body,
                                                   const RequestContext& context);

/// Texts to turn into vectors, as https://platform.openai.com/docs/api-reference/embeddings
/// documents it.
struct EmbeddingRequest {
  std::vector<std::vector<TokenId>> inputs = {};
  EmbedOptions options = {};   ///< "pooling" and "layer", which OpenAI's API does not have
  bool is_base64 = false;      ///< whether vectors are written as base64 of their floats
  std::size_t lost_bytes = 0;  ///< for which the vocabulary has no tokens

  [[nodiscard]] std::size_t tokens() const;  ///< of all texts
};

/// Returns the request in the body, which is a JSON object. A single text may be the member "text"
/// or "token_ids" in place of "input". Throws RequestError for anything that the API would refuse,
/// and for a text that is empty or longer than the context.
[[nodiscard]] EmbeddingRequest read_embedding_request(const nlohmann::json& body,
                                                      const RequestContext& context);

struct InspectionRequest {
  std::vector<TokenId> tokens = {};
  std::size_t top = 5;                   ///< the length of the lists
  bool with_attention = true;            ///< whether the report has the attention weights
  std::size_t lost_bytes = 0;            ///< for which the vocabulary has no tokens
  std::vector<PassChange> changes = {};  ///< by kind; compared with the pass without them
};

struct InspectionResult {
  Inspection found;
  std::vector<std::vector<float>> inputs;  ///< [NormIndex]: (tokens, n_embd), of each LayerNorm

  /// [layer * n_head + head]: the attention weights, row by row; row q has q + 1 of them. Empty
  /// unless the request asks for them.
  std::vector<std::vector<float>> attention;

  /// If the request has changes: what the model computes without them, and [NormIndex][token] how
  /// far the inputs of the LayerNorms are apart: |x - other| / |other|.
  std::optional<Inspection> unchanged;
  std::vector<std::vector<float>> distance;
};

/// Reads {"prompt": text or token ids, "top": number, "attention": bool, "skip_layer": [2, ...],
/// "skip_head": ["2.1", ...], "skip_mlp": [2, ...], "identity_norm": ["ln_1.2", ...]}, of which
/// only "prompt" is required. Throws Error for any other object, and for a text that is empty or
/// longer than the context.
[[nodiscard]] InspectionRequest read_inspection_request(const nlohmann::json& body,
                                                        const RequestContext& context);

/// A request about tokens, which needs no model: reading it answers it.
struct TokensRequest {
  Json answer = {};
  std::size_t tokens = 0;
  std::size_t lost_bytes = 0;  ///< for which the vocabulary has no tokens
};

/// Answers {"prompt": text or token ids, "offsets": bool, "add_special_tokens": bool,
/// "split_special_tokens": bool} with {"tokens", "count", "max_model_len"} and, if they are wanted,
/// the "offsets" of each token in the prompt, in bytes. Throws RequestError for any other object.
[[nodiscard]] TokensRequest read_tokenize_request(const nlohmann::json& body,
                                                  const RequestContext& context);

/// Answers {"tokens"} with {"prompt"}. Throws RequestError for any other object.
[[nodiscard]] TokensRequest read_detokenize_request(const nlohmann::json& body,
                                                    const RequestContext& context);

}  // namespace gpt2
