#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpt2/engine.h"
#include "gpt2/observer.h"
#include "gpt2/score.h"
#include "gpt2/types.h"

// What a model computes for a text, in numbers that a person can read: what each LayerNorm sees and
// does, where each head looks, which neurons are active, what the model would predict after each
// layer, and which parts make up a logit.
//
// A block computes x = x + attn(ln_1(x)) and then x = x + mlp(ln_2(x)). x is the residual stream.
// All norms of vectors are Euclidean. Logarithms are natural, so entropies and divergences are in
// nats. Sums are computed in double.

namespace [[gnu::visibility("default")]] gpt2 {

/// A dimension in which the input of a LayerNorm is far from its mean.
struct OutlierDimension {
  std::size_t dimension;  ///< from 0 to n_embd - 1
  float value;            ///< x[dimension]
  float normalized;       ///< (x[dimension] - mean) * rstd, before the weight and the bias
};

/// A LayerNorm at one token: y = (x - mean) * rstd * weight + bias.
struct NormInspection {
  float mean;      ///< of x
  float variance;  ///< of x, divided by n_embd
  float rstd;      ///< 1 / sqrt(variance + layer_norm_epsilon)

  /// The mean and rstd that y was computed with. They are the same unless the caller's observer
  /// changed them.
  float used_mean, used_rstd;

  float input_norm, output_norm;           ///< of x and y
  std::vector<OutlierDimension> outliers;  ///< those whose `normalized` is largest in magnitude

  /// Whether the caller's observer changed the mean or rstd.
  [[nodiscard]] bool is_changed() const noexcept {
    const auto differ = [](float a, float b) { return a != b && !(a != a && b != b); };  // not NaN
    return differ(used_mean, mean) || differ(used_rstd, rstd);
  }
};

/// What one half of a block, attention or the feed-forward layer, does to the residual stream at
/// one token.
struct UpdateInspection {
  float added_norm;  ///< the norm of what it adds
  float growth;      ///< the norm of the stream after it, divided by the norm before it
  float cosine;      ///< of the angle between the stream before and after it
};

/// Where one head looks. a(q, k) is the attention weight of token k when token q is computed.
///
/// The four scores are means over the queries that they are defined for, from 0 to 1; a score is
/// nullopt if the text has no such query. They find the kinds of heads that Elhage et al. 2021, "A
/// Mathematical Framework for Transformer Circuits", Olsson et al. 2022, "In-context Learning and
/// Induction Heads", and Wang et al. 2022, "Interpretability in the Wild", describe.
struct HeadInspection {
  std::vector<float> entropy;   ///< for each query: the entropy of its weights
  std::vector<float> distance;  ///< for each query: the mean of q - k, weighted by a(q, k)

  /// a(q, q - 1) and a(q, 0), for q >= 1.
  std::optional<float> previous_token, first_token;
  /// The sum of a(q, k) over k < q with the same token as q, for q that have such a k.
  std::optional<float> duplicate_token;
  /// The sum of a(q, k) over the k whose previous token k - 1 < q is the same as q, for q that have
  /// such a k. These are the tokens that followed the last time. Olsson et al. call it the prefix
  /// matching score.
  std::optional<float> induction;
};

/// A neuron of the feed-forward layer: an output of the activation function.
struct ActiveNeuron {
  std::size_t neuron;  ///< from 0 to inner_dim - 1
  float value;
};

/// The feed-forward layer of a block at one token.
struct MlpInspection {
  float active_share;                 ///< of the neurons whose value is more than 0
  std::vector<ActiveNeuron> largest;  ///< those with the largest magnitude
};

/// What the model would predict for the next token if it ended after some block: the logits of
/// ln_f(x), which is called the logit lens (nostalgebraist 2020, "interpreting GPT").
struct LensInspection {
  std::vector<LikelyToken> top;  ///< the likeliest tokens
  std::size_t rank;              ///< of the token that the whole model finds likeliest; 0 is best
  float kl;                      ///< KL(prediction of the whole model || this prediction)
};

/// Which parts make up a logit. The logit of token t is ln_f(x) . u, where u is row t of lm_head,
/// and x is the sum of the embeddings and of what each half of a block adds. With ln_f's rstd taken
/// as a constant, a part p contributes ((p - mean(p)) * rstd * ln_f.weight) . u, and ln_f.bias
/// contributes ln_f.bias . u. This is called direct logit attribution (Elhage et al. 2021).
///
/// The contributions add up to the logit, within rounding. They do not quite do so if lm_head is
/// quantized, because the pass then rounds ln_f(x), too. If the caller's observer changed the
/// statistics of ln_f, rstd is the changed one, no mean is subtracted from the parts, and the
/// changed mean counts to ln_f_bias.
struct LogitContributions {
  TokenId target;  ///< the token whose logit it is
  float logit;     ///< as the pass computes it

  float wte, wpe;                ///< of the two embeddings
  std::vector<float> attn, mlp;  ///< (n_layer)
  float ln_f_bias;

  /// Of what the caller's observer changed in the residual stream itself, or in the output of ln_f:
  /// what the parts above leave of the output of ln_f, multiplied by u. Otherwise it is rounding.
  float changes;

  /// (n_layer, n_head): the share of `attn` that comes through each head, and (n_layer) the rest of
  /// `attn`, which is the share of the bias attn.c_proj.bias unless the output was changed.
  std::vector<float> heads, attn_bias;
};

/// What inspect() found. `tokens` is the number of tokens; the index of a token is its position.
struct Inspection {
  /// The log-probability and the rank of each token, given those before it, and the likeliest
  /// tokens in its place. Token 0 has the log-probability NaN, because no token precedes it.
  std::vector<TokenLogprob> scores;

  std::vector<std::vector<NormInspection>> norms;  ///< [NormIndex][token]

  /// [2 * layer + half][token], where half 0 is attention and half 1 the feed-forward layer.
  std::vector<std::vector<UpdateInspection>> updates;

  std::vector<std::vector<HeadInspection>> heads;  ///< [layer][head]
  std::vector<std::vector<MlpInspection>> mlps;    ///< [layer][token]

  /// [i][token]: the prediction after i blocks, so 0 is that of the embeddings, and n_layer is that
  /// of the whole model.
  std::vector<std::vector<LensInspection>> lens;

  std::vector<LogitContributions> contributions;  ///< [token]
};

/// Returns the mean of -logprob over all tokens but the first, in nats; NaN if there are no others.
[[nodiscard]] double loss_of(const Inspection& found);

/// The index of a LayerNorm in Inspection::norms: ln_1 of block 0, ln_2 of block 0, ln_1 of block 1
/// and so on, and then ln_f.
struct NormIndex {
  static constexpr std::size_t ln_1(std::size_t layer) { return 2 * layer; }
  static constexpr std::size_t ln_2(std::size_t layer) { return 2 * layer + 1; }
  static constexpr std::size_t ln_f(std::size_t n_layer) { return 2 * n_layer; }
};

/// Returns the name of an entry of Inspection::norms: "h.0.ln_1", ..., "ln_f".
[[nodiscard]] std::string norm_name(std::size_t norm, std::size_t n_layer);

/// How to inspect.
struct InspectOptions {
  /// The length of the lists of tokens, dimensions and neurons. A list that cannot be so long has
  /// all there are.
  std::size_t top = 5;

  /// For each token, the token whose logit is taken apart. Empty: the one that the model finds
  /// likeliest there.
  std::vector<TokenId> targets = {};

  /// Receives everything else that the pass computes, as forward() shows it to an observer.
  /// `see` may be empty. add_changes() of pass_change.h skips parts of the model by their names.
  Observer observer = {};

  /// Called, unless it is empty, with the share of the work that is done, up to 1. An exception
  /// from it ends the work and reaches the caller.
  std::function<void(double share)> progress = {};
};

/// Runs one forward pass over a text and describes what it computed. The numbers have the same bits
/// on every machine and for any number of threads.
///
/// REQUIRES: from 1 to n_positions tokens, all in the vocabulary, and as many targets or none.
/// Otherwise throws Error(invalid_argument) before any work. Throws std::bad_alloc and what
/// forward() throws. Several threads may call it, also with the same engine.
///
/// Cost: a forward pass, and n_layer + 2 times the product that computes the logits of all tokens.
/// Memory for about 5 * n_layer vectors of n_embd floats a token.
///
/// Example:
///   const std::vector<TokenId> cat = tokenizer.encode("The cat sat on the");
///   const Inspection seen = inspect(Engine::shared(model), cat);
///   const NormInspection& last = seen.norms[NormIndex::ln_f(model.config().n_layer)].back();
///   std::printf("mean %g, variance %g\n", last.mean, last.variance);
[[nodiscard]] Inspection inspect(const Engine& engine, std::span<const TokenId> tokens,
                                 const InspectOptions& options = {});

}  // namespace gpt2
