#include "generate/perplexity.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "gpt2/session.h"
#include "kernels/kernels.h"

namespace gpt2 {
namespace {

// Rows of logits held at a time.
constexpr std::size_t kRows = 32;

// -log of the probability that softmax(logits) gives the token. Spoils the logits.
double surprise(std::span<float> logits, TokenId token) {
  const Kernels& k = kernels();
  const float max = logits[k.argmax(logits.data(), logits.size())];
  const float logit = logits[static_cast<std::size_t>(token)];
  const float sum = k.exp_sum(logits.data(), logits.data(), max, logits.size());
  return std::log(static_cast<double>(sum)) - static_cast<double>(logit - max);
}

}  // namespace

Comparison compare(const Model& a, const Model& b, std::span<const TokenId> tokens,
                   const std::function<void(double share)>& progress) {
  const std::size_t vocab_size = a.config().vocab_size;
  const std::size_t window =
      std::min({a.config().n_positions, b.config().n_positions, tokens.size()});
  if (b.config().vocab_size != vocab_size || window < 2) {
    reject("comparing takes one vocabulary, and a text and contexts of two tokens or more");
  }
  const std::size_t stride = window / 2;
  Session sessions[2] = {Session(a), Session(b)};
  std::vector<std::vector<float>> logits(2, std::vector<float>(kRows * vocab_size));
  double total[2] = {};
  Comparison result;
  std::size_t scored = 1;  // tokens that have had their score
  for (std::size_t begin = 0; scored < tokens.size(); begin += stride) {
    const std::size_t end = std::min(begin + window, tokens.size());
    for (Session& session : sessions) session.rewind(0);
    for (std::size_t i = begin; i + 1 < end; i += kRows) {
      const std::size_t rows = std::min(kRows, end - 1 - i);
      for (int m = 0; m < 2; ++m) {
        const Slice slice{&sessions[m], tokens.subspan(i, rows),
                          std::span(logits[m]).first(rows * vocab_size)};
        forward(std::span(&slice, 1));
      }
      for (std::size_t j = 0; j < rows * vocab_size; ++j) {
        const double change = std::abs(static_cast<double>(logits[0][j]) - logits[1][j]);
        result.largest_logit_change = std::max(result.largest_logit_change, change);
      }
      for (std::size_t row = 0; row < rows; ++row) {
        if (i + row + 1 < scored) continue;
        for (int m = 0; m < 2; ++m) {
          total[m] += surprise(std::span(logits[m]).subspan(row * vocab_size, vocab_size),
                               tokens[i + row + 1]);
        }
      }
    }
    scored = end;
    progress(static_cast<double>(scored) / static_cast<double>(tokens.size()));
  }
  result.tokens = tokens.size() - 1;
  for (int m = 0; m < 2; ++m) {
    result.perplexity[m] = std::exp(total[m] / static_cast<double>(result.tokens));
  }
  return result;
}

}  // namespace gpt2
