#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "gpt2/engine.h"
#include "gpt2/model.h"
#include "gpt2/token_id.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// How well two models of one vocabulary, a and b, predict a text, and how far apart they are.
struct PerplexityComparison {
  std::size_t tokens = 0;   ///< scored: all but the first
  std::size_t windows = 0;  ///< in which they were scored

  /// exp of the mean of -log p(token) over the tokens scored: of a, and of b. Lower is better. Not
  /// finite if a model's logits are not.
  double perplexity[2] = {};

  double change = 0.0;          ///< perplexity[1] / perplexity[0] - 1
  double standard_error = 0.0;  ///< of `change`, over the windows; NaN for a single window
  double max_logit_change = 0.0;  ///< the largest difference of any logit, as a magnitude
};

/// Scores a text with two models, for example one and its quantized copy.
///
/// The text is scored in windows of as many tokens as the shorter context of the two has positions
/// (n_positions), or all of them if the text is shorter. Each window begins half a window after the
/// one before, and the last one ends with the text. A window scores the tokens that the one before
/// did not reach: the first window all but its first token, which nothing predicts; the others
/// their second half (the last one perhaps fewer). So every token is scored once, and from the
/// second window on with half a window or more of text before it.
///
/// Calls `progress`, unless it is empty, after each window with the share of the tokens that are
/// scored, up to 1; what it throws passes through. Uses Engine::shared of both models, and so keys
/// and values of the type that KVType::automatic stands for.
///
/// Cost: about twice the forward passes of both models over the text, and 32 rows of logits of
/// each. Throws Error(invalid_argument), before any work, for fewer than two tokens or positions,
/// for vocabularies that differ in size, and for a token outside the vocabulary.
///
/// Example:
///   const Model quantized = Model::load("models/gpt2-stories", {.dtype = WeightType::int8});
///   const std::vector<TokenId> text = tokenizer.encode("Once upon a time there was a cat.");
///   const PerplexityComparison cost = compare_perplexity(model, quantized, text);
///   const double percent = 100.0 * cost.change;
[[nodiscard]] PerplexityComparison compare_perplexity(
    const Model& a, const Model& b, std::span<const TokenId> tokens,
    const std::function<void(double share)>& progress = {});

/// The same for two engines. Their models may be one model, if the engines hold keys and values in
/// different types.
///
/// Example:
///   const Engine exact(model, {.kv_type = KVType::f32}), rounded(model, {.kv_type = KVType::f16});
///   const std::vector<TokenId> tale = tokenizer.encode("Once upon a time there was a cat.");
///   const double change = compare_perplexity(exact, rounded, tale).change;
[[nodiscard]] PerplexityComparison compare_perplexity(
    const Engine& a, const Engine& b, std::span<const TokenId> tokens,
    const std::function<void(double share)>& progress = {});

}  // namespace gpt2
