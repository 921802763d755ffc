#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "gpt2/engine.h"
#include "gpt2/model.h"
#include "gpt2/token_id.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// How well each of two models, a and b, predicts a text, and how much their predictions differ.
/// Both models have the same vocabulary.
struct PerplexityComparison {
  std::size_t tokens = 0;   ///< the number of scored tokens: all but the first
  std::size_t windows = 0;  ///< the number of windows in which they were scored

  /// exp of the mean of -log p(token) over the scored tokens: [0] for a and [1] for b. Lower is
  /// better. Not finite if the logits of the model are not.
  double perplexity[2] = {};

  double change = 0.0;          ///< perplexity[1] / perplexity[0] - 1
  double standard_error = 0.0;  ///< the error of `change`, over the windows; NaN for one window
  double max_logit_change = 0.0;  ///< the largest absolute difference of any logit
};

/// Scores a text with two models, for example one and its quantized copy.
///
/// The text is scored in windows. A window has min(a's n_positions, b's n_positions) tokens, or all
/// tokens of the text if it is shorter. Each window begins half a window after the previous one,
/// and the last one ends with the text. A window scores the tokens that the previous one did not
/// reach: the first window scores all tokens but its first, which nothing predicts; the others
/// score their second half (the last one perhaps fewer tokens). So every token except the first is
/// scored once, and from the second window on, at least half a window of text precedes it.
///
/// Calls `progress`, unless it is empty, after each window with the share of the tokens that have
/// been scored, up to 1; an exception from it reaches the caller. Uses Engine::shared of both
/// models, and therefore keys and values of the type that KVType::automatic stands for.
///
/// Cost: each model computes every token about twice; memory for 32 rows of logits for each model.
/// Throws Error(invalid_argument), before any work, for fewer than two tokens or positions, for
/// vocabularies that differ in size, and for a token outside the vocabulary.
///
/// Example:
///   const Model quantized = Model::load("models/gpt2-stories", {.dtype = WeightType::int8});
///   const std::vector<TokenId> text = tokenizer.encode("Once upon a time there was a cat.");
///   const PerplexityComparison cost = compare_perplexity(model, quantized, text);
///   const double percent = 100.0 * cost.change;
[[nodiscard]] PerplexityComparison compare_perplexity(
    const Model& a, const Model& b, std::span<const TokenId> tokens,
    const std::function<void(double share)>& progress = {});

/// The same for two engines. Both may use the same model, for example to compare two types of keys
/// and values.
///
/// Example:
///   const Engine exact(model, {.kv_type = KVType::f32}), rounded(model, {.kv_type = KVType::f16});
///   const std::vector<TokenId> tale = tokenizer.encode("Once upon a time there was a cat.");
///   const double change = compare_perplexity(exact, rounded, tale).change;
[[nodiscard]] PerplexityComparison compare_perplexity(
    const Engine& a, const Engine& b, std::span<const TokenId> tokens,
    const std::function<void(double share)>& progress = {});

}  // namespace gpt2
