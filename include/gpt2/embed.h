#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "gpt2/session.h"

// Hidden states and embeddings: the vector of n_embd floats that the model computes for each token
// before the logits, and one such vector for a whole text.

namespace [[gnu::visibility("default")]] gpt2 {

/// One sequence's part in a pass that computes hidden states. Like Slice, except for the results.
struct HiddenSlice {
  Session* session;                 ///< the session that the tokens belong to
  std::span<const TokenId> tokens;  ///< appended to the session; n of them
  std::span<float> states;          ///< (k, n_embd), k <= n: receives the last k tokens' states
};

/// Runs one forward pass over all slices, as Engine::forward does, on the engine of the first
/// slice's session, but writes hidden states instead of logits. The sessions change as they do in
/// Engine::forward, so either function can continue them. The states of a token depend, bit for
/// bit, only on the tokens up to and including this one.
///
/// `layer` counts as in HuggingFace's `hidden_states`: 0 stands for the embeddings, i for the
/// output of block i - 1, and n_layer for the output of the last block after ln_f, from which the
/// logits are computed.
///
/// Cost: a forward pass without the matrix product that computes the logits; allocates a list of
/// the slices. (The pass computes all blocks, whatever the layer, because the sessions need their
/// keys and values.) Throws as Engine::forward does, and Error(invalid_argument) if the layer is
/// more than n_layer; in that case, nothing has changed. Does nothing if there are no slices.
///
/// Example:
///   Session session(model);
///   const std::vector<TokenId> text = tokenizer.encode("Once upon a time");
///   const std::size_t n_embd = model.config().n_embd;
///   std::vector<float> states(text.size() * n_embd);  // row i: of token i
///   const HiddenSlice slice = {&session, text, states};
///   hidden_states({&slice, 1}, model.config().n_layer);
void hidden_states(std::span<const HiddenSlice> slices, std::size_t layer);

/// How to compute logits from hidden states.
struct UnembedOptions {
  /// Whether to apply ln_f, the model's last LayerNorm, to the states first. Logits are defined for
  /// the output of ln_f. The states of layer n_layer have been through it already; those of the
  /// layers before have not.
  bool ln_f = false;
};

/// Computes the logits that the model would have if its last hidden states were these. Applied to
/// the states of a layer in the middle, this shows what the model would predict if it ended there,
/// which is called the logit lens.
///
///   states  (n, n_embd)      row-major, for any n
///   logits  (n, vocab_size)  output; must not overlap `states`
///
/// The logits of the states of layer n_layer have the same bits as those of a forward pass.
///
/// Cost: a matrix product; allocates nothing. Throws Error(invalid_argument) if the sizes do not
/// fit together; in that case, nothing is written. Any number of threads may call it: those that
/// use the same engine wait for one another.
///
/// Example:
///   Session lens(model);
///   std::vector<float> middle(model.config().n_embd);
///   const std::vector<TokenId> phrase = tokenizer.encode("Once upon a");
///   const HiddenSlice last = {&lens, phrase, middle};
///   hidden_states({&last, 1}, model.config().n_layer / 2);
///   std::vector<float> logits(model.config().vocab_size);
///   unembed(Engine::shared(model), middle, logits, {.ln_f = true});
void unembed(const Engine& engine, std::span<const float> states, std::span<float> logits,
             const UnembedOptions& options = {});

/// How the hidden states of a text's tokens become one vector.
enum class Pooling {
  mean,  ///< their mean, added in double from the first token to the last
  last   ///< the hidden state of the last token, the only one that depends on all tokens
};

/// How to embed texts.
struct EmbedOptions {
  Pooling pooling = Pooling::mean;

  std::optional<std::size_t> layer = {};  ///< as in hidden_states(); if not set: n_layer

  /// Called, unless it is empty, after each forward pass with the share of the tokens that have
  /// been read, up to 1. An exception from it cancels the work and reaches the caller of embed().
  std::function<void(double share)> progress = {};
};

/// Returns a vector of n_embd floats for each text, for example to compare texts by the cosine of
/// the angle between their vectors. The vectors are not normalized.
///
/// Texts share forward passes of about 512 tokens. The vector of a text has the same bits as if it
/// were embedded alone, on every machine and for any number of threads.
///
/// Cost: one pass over the texts without logits; memory for the keys, values and hidden states of
/// the texts of one pass. REQUIRES: every text has from 1 to n_positions tokens, all in the
/// vocabulary; the layer is at most n_layer; and the pooling is a value of Pooling. Otherwise
/// throws Error(invalid_argument) before any work. Throws std::bad_alloc.
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
