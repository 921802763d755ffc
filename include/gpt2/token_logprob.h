#pragma once

#include <cstddef>
#include <vector>

#include "gpt2/token_id.h"

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

}  // namespace gpt2
