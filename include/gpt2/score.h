#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "gpt2/engine.h"
#include "gpt2/model.h"
#include "gpt2/tokenizer.h"
#include "gpt2/types.h"

// Scores of texts: the log-probability of each token, the perplexity, and which of several
// continuations a model prefers.

namespace [[gnu::visibility("default")]] gpt2 {

/// A token that the model finds likely at some position of a text.
struct LikelyToken {
  TokenId id;     ///< the token
  float logprob;  ///< as in TokenLogprob
};

/// The log-probability and the rank of the token at some position of a text, given all tokens
/// before it.
///
/// The log-probabilities are natural logarithms of softmax(logits). The logits are the model's own,
/// before the options of SamplingOptions change them: temperature, filters, penalties and bans have
/// no effect here, so a token that was drawn may well have a low probability. They are bit for bit
/// the same on every machine, for any number of threads and with any draft.
///
/// If the logits contain NaN or +infinity, there are no probabilities: logprob is NaN, rank is 0
/// and top is empty. (By default, generate() refuses such logits.)
///
/// Example:
///   Session session(model);
///   const GenerationResult result =
///       generate(session, tokenizer, tokenizer.encode("Tom"), {.top_logprobs = 3}, {});
///   for (const TokenLogprob& score : result.logprobs) {
///     std::cout << score.logprob << "; likeliest: " << tokenizer.bytes(score.top[0].id) << '\n';
///   }
struct TokenLogprob {
  float logprob;  ///< the logarithm of the token's probability; -infinity if its logit is

  /// How many tokens are likelier than this one; 0 for the likeliest. If logits are equal, the
  /// lower id counts as likelier, as in greedy decoding.
  std::size_t rank;

  std::vector<LikelyToken> top;  ///< the likeliest tokens, by rank
};

/// How to score texts.
struct ScoreOptions {
  /// The number of tokens in a window, from 2 to the model's n_positions. 0: n_positions.
  std::size_t context = 0;

  /// The distance between the beginnings of consecutive windows, in tokens, from 1 to `context`.
  /// With a smaller stride, tokens have more context, and scoring takes more passes. 0: 512, as in
  /// HuggingFace's recipe, or half a window if that is less.
  std::size_t stride = 0;

  std::size_t top_logprobs = 0;  ///< the length of TokenLogprob::top

  /// Called, unless it is empty, after each forward pass with the share of the tokens that have
  /// been scored, up to 1. An exception from it cancels the work and reaches the caller.
  std::function<void(double share)> progress = {};

  /// Returns these options with the default values that score() fills in for a model with this
  /// config. Throws Error(invalid_argument) for an option out of range.
  [[nodiscard]] ScoreOptions resolved(const Config& config) const;
};

/// A window: consecutive tokens of a text, which the model reads without the text before them. The
/// window scores the last of its tokens, from index `first` on.
struct ScoredWindow {
  std::size_t begin;   ///< the index of its first token in the text
  std::size_t first;   ///< the index of the first token that it scores; more than `begin`
  std::size_t end;     ///< one more than the index of its last token
  std::size_t labels;  ///< how many tokens come after the end of the previous window, as
                       ///< HuggingFace counts them
  double nll = 0.0;    ///< the sum of -log p of tokens [first, end), added in order
};

/// The scores of one text.
struct TextScore {
  /// For each token of the text, its log-probability given the tokens before it in its window. A
  /// token that no window scores has the log-probability NaN, the rank 0 and an empty list. This is
  /// the first token of the text and, if the stride is as long as a window, the first token of
  /// every window.
  std::vector<TokenLogprob> tokens;

  std::vector<ScoredWindow> windows;  ///< in order; there are none if the text is empty
};

/// Scores texts in windows, as HuggingFace's page "Perplexity of fixed-length models" does. Windows
/// begin at token 0, stride, 2 * stride and so on; the first one that reaches the end of the text
/// is the last. A window scores the tokens that the previous one did not reach, except its own
/// first token, which nothing predicts. So if the stride is less than the length of a window, every
/// token but the first is scored exactly once. A text of fewer than two tokens has no score, and
/// its perplexity is NaN. (The command and the Python package refuse such a text.)
///
/// Windows of all texts share forward passes, so that many short texts take little more time than
/// one long text with the same number of tokens. The result for a text has the same bits as if it
/// were scored alone, on every machine and for any number of threads.
///
/// Cost: each token is computed about context / stride times; memory for 256 rows of logits, for
/// the keys and values of one window or of up to 768 tokens of several windows, and 40 bytes for
/// each token. Throws Error(invalid_argument), before any work, for options out of range and for a
/// token outside the vocabulary; and std::bad_alloc.
///
/// Example:
///   const Engine engine = Engine::shared(model);
///   const std::vector<std::vector<TokenId>> texts = {tokenizer.encode("The cat sat down."),
///                                                    tokenizer.encode("Cat the down sat.")};
///   for (const TextScore& text : score(engine, texts)) {
///     std::cout << perplexity({&text, 1}).by_token.value << '\n';
///   }
[[nodiscard]] std::vector<TextScore> score(const Engine& engine,
                                           std::span<const std::vector<TokenId>> texts,
                                           const ScoreOptions& options = {});

/// A number that is estimated from windows, and its standard error.
struct Estimate {
  double value;           ///< NaN if nothing was counted
  double standard_error;  ///< NaN for fewer than two windows
};

/// How well a model predicts some texts. For all members but the counts, lower is better.
///
/// Let N be the number of scored tokens and S the sum of their -log p. The perplexity by token is
/// exp(S / N). Each token counts once, whichever window scores it. The perplexities by word and by
/// byte divide the same sum by the number of words or bytes. Unlike the perplexity by token, they
/// can therefore be compared between models with different tokenizers.
///
/// The standard error estimates how much the number would vary between texts of this kind and
/// length. It is computed from the differences between windows: S / N is a ratio of two sums over W
/// windows, of which window w contributes s_w and n_w, and the variance of such a ratio is W / (W -
/// 1) * sum((s_w - n_w * S / N)^2) / N^2 (Cochran, Sampling Techniques, 6.4). The windows are
/// treated as the samples, and not the tokens, because the tokens of a passage are not independent:
/// they tend to be easy or hard to predict together.
struct Perplexity {
  std::size_t tokens = 0;   ///< the number of scored tokens
  std::size_t words = 0;    ///< how many words begin in these tokens, at the start of the text,
                            ///< also behind an end-of-text token, or after ASCII white space
  std::size_t bytes = 0;    ///< the number of bytes of these tokens
  std::size_t windows = 0;  ///< how many windows score a token
  double nll = 0.0;         ///< S, in nats

  Estimate by_token = {};       ///< exp(S / tokens)
  Estimate by_word = {};        ///< exp(S / words); NaN without a tokenizer
  Estimate by_byte = {};        ///< exp(S / bytes); NaN without a tokenizer
  Estimate bits_per_byte = {};  ///< S / (bytes * log(2)); NaN without a tokenizer

  /// Two other numbers that are also called perplexity, for comparison with published results. Both
  /// weight windows instead of tokens. The code on HuggingFace's page multiplies the mean loss of a
  /// window by labels - 1, which leaves out a token of each window but the first. Older versions of
  /// that page gave every window the same weight, however short it was.
  double hf_weighted = 0.0;
  double hf_unweighted = 0.0;  ///< exp of the mean over windows of nll / tokens
};

/// Computes the perplexity from scores. Words and bytes are counted only if `texts` and the
/// tokenizer that encoded them are given; texts[i] is the text that was scored as scores[i]. The
/// numbers have the same bits on every machine. Throws Error(invalid_argument) if the texts do not
/// have as many tokens as their scores, and for a window that score() cannot have made: each window
/// must have begin < first <= end <= the number of tokens, and labels > 0.
///
/// Example:
///   const std::vector<std::vector<TokenId>> text = {tokenizer.encode("Once upon a time")};
///   const std::vector<TextScore> scores = score(Engine::shared(model), text);
///   const Perplexity found = perplexity(scores, text, tokenizer);
///   std::cout << found.by_token.value << ", " << found.bits_per_byte.value << " bits a byte\n";
[[nodiscard]] Perplexity perplexity(std::span<const TextScore> scores);
[[nodiscard]] Perplexity perplexity(std::span<const TextScore> scores,
                                    std::span<const std::vector<TokenId>> texts,
                                    const Tokenizer& tokenizer);

/// The log-probability of a continuation of a context.
struct ChoiceScore {
  std::vector<TokenLogprob> tokens;  ///< the scores of its tokens, each given all tokens before it
  double sum;                        ///< the sum of their log-probabilities, added in order
  double mean;                       ///< sum / number of tokens
  bool greedy_match;                 ///< whether greedy decoding would continue the context with it
};

/// A context and continuations of it, for example a question and its answers.
struct ChoiceQuestion {
  std::vector<TokenId> context;
  std::vector<std::vector<TokenId>> choices;

  /// Throws Error(invalid_argument) unless the context and every choice have a token, together they
  /// have at most n_positions + 1, and all tokens are of the vocabulary.
  void check(const Config& config) const;
};

/// Scores the choices of each question. The result for question i has a score for each of its
/// choices, in order, with the same bits as if there were no other question and no other choice.
///
/// Questions share forward passes, so that many short ones take little more time than one long text
/// with as many tokens. Each context is computed once, and each choice continues from it.
///
/// REQUIRES: check() accepts every question; top_logprobs, the length of TokenLogprob::top, is at
/// most the size of the vocabulary. Otherwise throws Error(invalid_argument) before any work.
/// Throws std::bad_alloc.
///
/// Calls `progress`, unless it is empty, in the same way as ScoreOptions::progress, with the share
/// of the choices' tokens that have been scored.
///
/// Cost: memory for 256 rows of logits and for the keys and values of 2,048 tokens and two more
/// sequences, however many questions and choices there are.
///
/// Example:
///   const std::vector<ChoiceQuestion> questions = {
///       {tokenizer.encode("The cat"), {tokenizer.encode(" sat"), tokenizer.encode(" moon")}},
///       {tokenizer.encode("Once upon"), {tokenizer.encode(" a time"), tokenizer.encode(" cat")}}};
///   for (const auto& choices : score_choices(Engine::shared(model), questions)) {
///     std::cout << (choices[0].sum > choices[1].sum ? "the first\n" : "the second\n");
///   }
[[nodiscard]] std::vector<std::vector<ChoiceScore>> score_choices(
    const Engine& engine, std::span<const ChoiceQuestion> questions, std::size_t top_logprobs = 0,
    const std::function<void(double share)>& progress = {});

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
};

/// Scores a text with the models of two engines, for example a model and its quantized copy. Both
/// engines may have the same model, for example to compare two types of keys and values.
///
/// The text is scored in windows. A window has min(a's n_positions, b's n_positions) tokens, or all
/// tokens of the text if it is shorter. Each window begins half a window after the previous one,
/// and the last one ends with the text. A window scores the tokens that the previous one did not
/// reach: the first window scores all tokens but its first, which nothing predicts; the others
/// score their second half (the last one perhaps fewer tokens). So every token except the first is
/// scored once, and from the second window on, at least half a window of text precedes it.
///
/// Calls `progress`, unless it is empty, with the share of the tokens that have been scored, up to
/// 0.5 for a and then up to 1 for b; an exception from it reaches the caller.
///
/// Cost: that of score() for each model, which computes every token about twice. Throws
/// Error(invalid_argument), before any work, for fewer than two tokens or positions, for
/// vocabularies that differ in size, and for a token outside the vocabulary.
///
/// Example:
///   const Engine exact(model), quantized(model.to(WeightType::int8));
///   const std::vector<TokenId> text = tokenizer.encode("Once upon a time there was a cat.");
///   const double percent = 100.0 * compare_perplexity(exact, quantized, text).change;
[[nodiscard]] PerplexityComparison compare_perplexity(
    const Engine& a, const Engine& b, std::span<const TokenId> tokens,
    const std::function<void(double share)>& progress = {});

}  // namespace gnu::visibility("default")]]gpt2
