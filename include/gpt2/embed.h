#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "gpt2/session.h"

// What the model makes of a text on the way to the logits: a vector of n_embd floats for each
// token, and one for the whole text.

namespace [[gnu::visibility("default")]] gpt2 {

/// One sequence's part in a pass that computes hidden states. Like Slice, except for the results.
struct HiddenSlice {
  Session* session;                 ///< whose tokens these are
  std::span<const TokenId> tokens;  ///< appended to the session; n of them
  std::span<float> states;          ///< (k, n_embd), k <= n: receives those of the last k tokens
};

/// One forward pass over all slices, as Engine::forward of the first slice's engine, that writes
/// hidden states instead of logits. The sessions are afterwards as after Engine::forward, so they
/// can go on with either. The states of a token depend, bit for bit, on the tokens up to it alone.
///
/// `layer` counts as in HuggingFace's `hidden_states`: 0 are the embeddings, i the output of block
/// i - 1, and n_layer the output of the last block after ln_f, which the logits are computed from.
///
/// Cost: a forward pass without the product that makes the logits, and a list of the slices. (All
/// blocks are computed, whatever the layer, because the session needs their keys and values.)
/// Throws as Engine::forward does, and Error(invalid_argument) if the layer is more than n_layer;
/// then changes nothing. Does nothing for no slices.
///
/// Example:
///   Session session(model);
///   const std::vector<TokenId> text = tokenizer.encode("Once upon a time");
///   const std::size_t n_embd = model.config().n_embd;
///   std::vector<float> states(text.size() * n_embd);  // row i: of token i
///   const HiddenSlice slice = {&session, text, states};
///   hidden_states({&slice, 1}, model.config().n_layer);
void hidden_states(std::span<const HiddenSlice> slices, std::size_t layer);

/// How the hidden states of a text's tokens become one vector.
enum class Pooling {
  mean,  ///< their mean, added in double from the first token to the last
  last   ///< that of the last token, the only one that has seen all others
};

/// How to embed texts.
struct EmbedOptions {
  Pooling pooling = Pooling::mean;

  std::optional<std::size_t> layer = {};  ///< as in hidden_states(); if not set: n_layer

  /// Called, unless it is empty, after each forward pass with the share of the tokens that are
  /// read, up to 1. What it throws passes through, which cancels the work.
  std::function<void(double share)> progress = {};
};

/// Returns a vector of n_embd floats for each text, for example to compare texts by the cosine of
/// the angle between their vectors. The vectors are not normalized.
///
/// Texts share forward passes of about 512 tokens. The vector of a text has the same bits as if it
/// were embedded alone, on every machine and for any number of threads.
///
/// Cost: one pass over the texts without logits; the keys, values and hidden states of the texts of
/// one pass. REQUIRES: every text has from 1 to n_positions tokens, all of the vocabulary, the
/// layer is at most n_layer, and the pooling is one of the above. Otherwise throws
/// Error(invalid_argument) before any work. Throws std::bad_alloc.
///
/// Example:
///   const std::vector<std::vector<TokenId>> texts = {tokenizer.encode("The cat sat down."),
///                                                    tokenizer.encode("A dog ran.")};
///   const std::vector<std::vector<float>> vectors = embed(Engine::shared(model), texts);
///   double dot = 0.0;
///   for (std::size_t i = 0; i < vectors[0].size(); ++i) dot += vectors[0][i] * vectors[1][i];
[[nodiscard]] std::vector<std::vector<float>> embed(const Engine& engine,
                                                    std::span<const std::vector<TokenId>> texts,
                                                    const EmbedOptions& options = {});

}  // namespace gpt2
