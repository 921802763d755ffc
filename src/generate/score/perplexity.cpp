#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "base/fail.h"
#include "base/system/threads.h"
#include "base/utf8.h"
#include "generate/sampling/softmax.h"
#include "gpt2/score.h"

namespace gpt2 {
namespace {

// A part of the data: the sum of some quantity over it, and the number of its units.
struct Part {
  double sum;
  double units;
};

// Returns the sum of all parts divided by the number of their units.
//
// The parts are treated as a random sample. Part w of W has the sum s_w and n_w units, and all
// parts together have N units. The standard error of the ratio R of the two sums is estimated by
// (Cochran, Sampling Techniques, 6.4)
//
//   SE(R)^2 = W / (W - 1) * sum (s_w - R n_w)^2 / N^2
//
// If all parts have the same number of units, this is the usual variance of the mean of the means
// m_w = s_w / n_w: sum (m_w - R)^2 / (W (W - 1)).
Estimate ratio_of_sums(std::span<const Part> parts) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  double units = 0.0;
  for (const Part& part : parts) {
    sum += part.sum;
    units += part.units;
  }
  if (units == 0.0) return {kNan, kNan};
  const double ratio = sum / units;
  if (parts.size() < 2) return {ratio, kNan};
  double squares = 0.0;
  for (const Part& part : parts) {
    const double deviation = part.sum - ratio * part.units;
    squares += deviation * deviation;
  }
  const auto count = static_cast<double>(parts.size());
  return {ratio, std::sqrt(count / (count - 1.0) * squares) / units};
}

Estimate exp_of(const Estimate& x) {
  const double value = exp_f64(x.value);
  return {value, value * x.standard_error};
}

// score() makes only well-formed windows, but the members of a TextScore are public, so a program
// may have changed them.
void check_windows(std::span<const TextScore> scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t w = 0; w < scores[i].windows.size(); ++w) {
      const auto& [begin, first, end, labels, nll] = scores[i].windows[w];
      if (begin < first && first <= end && end <= scores[i].tokens.size() && labels > 0) continue;
      reject("text ", i + 1, ", window ", w + 1,
             ": expected begin < first <= end <= ", scores[i].tokens.size(),
             " and a label or more, got begin ", begin, ", first ", first, ", end ", end, " and ",
             labels, " labels: give what score() returned");
    }
  }
}

// The numbers of words and bytes of a token.
struct ScoredUnits {
  std::size_t words = 0;
  std::size_t bytes = 0;
};

// Returns the units of each token of a text. A word begins at a byte that is not white space and
// that is the first one or follows white space, or an end-of-text token before the text.
std::vector<ScoredUnits> units_of(std::span<const TokenId> text, const Tokenizer& tokenizer) {
  std::vector<ScoredUnits> units;
  bool after_space = true;
  Detokenizer pieces(tokenizer);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string bytes(pieces.write(text[i]));
    if (i + 1 == text.size()) bytes += pieces.flush();
    ScoredUnits& of_token = units.emplace_back();
    of_token.bytes = bytes.size();
    for (const char byte : bytes) {
      const bool is_space = is_ascii_space(byte);
      if (after_space && !is_space) ++of_token.words;
      after_space = is_space;
    }
    after_space |= i == 0 && tokenizer.is_special(text[0]);
  }
  return units;
}

// Adds up windows and computes the perplexity from the sums.
class ScoreSummary {
 public:
  // `units` are those of the tokens that the window scores; none if they are not counted.
  void add(const ScoredWindow& window, std::span<const ScoredUnits> units) {
    const std::size_t tokens = window.end - window.first;
    if (tokens == 0) return;
    std::size_t words = 0, bytes = 0;
    for (const ScoredUnits& token : units) {
      words += token.words;
      bytes += token.bytes;
    }
    counts_.tokens += tokens;
    counts_.words += words;
    counts_.bytes += bytes;
    counts_.nll += window.nll;
    ++counts_.windows;
    const std::size_t counts[] = {tokens, words, bytes};
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].push_back({window.nll, static_cast<double>(counts[i])});
    }
    const double mean = window.nll / static_cast<double>(tokens);
    const auto weight = static_cast<double>(window.labels - 1);
    weighted_.sum += weight * mean;
    weighted_.units += weight;
    unweighted_.sum += mean;
    unweighted_.units += 1.0;
  }

  [[nodiscard]] Perplexity perplexity() const {
    Perplexity result = counts_;
    result.by_token = exp_of(ratio_of_sums(parts_[0]));
    result.by_word = exp_of(ratio_of_sums(parts_[1]));
    const Estimate by_byte = ratio_of_sums(parts_[2]);
    result.by_byte = exp_of(by_byte);
    constexpr double kLog2 = std::numbers::ln2;
    result.bits_per_byte = {by_byte.value / kLog2, by_byte.standard_error / kLog2};
    result.hf_weighted = exp_f64(ratio_of_sums({&weighted_, 1}).value);
    result.hf_unweighted = exp_f64(ratio_of_sums({&unweighted_, 1}).value);
    return result;
  }

 private:
  Perplexity counts_;                       // only the counts and the nll are set
  std::array<std::vector<Part>, 3> parts_;  // a Part for each window, in tokens, words and bytes
  Part weighted_ = {0.0, 0.0};
  Part unweighted_ = {0.0, 0.0};
};

}  // namespace

Perplexity perplexity(std::span<const TextScore> scores) {
  const DefaultFloatState state;
  check_windows(scores);
  ScoreSummary summary;
  for (const TextScore& text : scores) {
    for (const ScoredWindow& window : text.windows) summary.add(window, {});
  }
  return summary.perplexity();
}

Perplexity perplexity(std::span<const TextScore> scores,
                      std::span<const std::vector<TokenId>> texts, const Tokenizer& tokenizer) {
  const DefaultFloatState state;
  check_windows(scores);
  if (texts.size() != scores.size()) {
    reject("got ", texts.size(), " texts with ", scores.size(),
           " scores: give the texts that were scored");
  }
  ScoreSummary summary;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (texts[i].size() != scores[i].tokens.size()) {
      reject("text ", i + 1, " has ", texts[i].size(), " tokens, but its score has ",
             scores[i].tokens.size(), ": give the texts that were scored");
    }
    const std::vector<ScoredUnits> units = units_of(texts[i], tokenizer);
    for (const ScoredWindow& window : scores[i].windows) {
      summary.add(window, std::span(units).subspan(window.first, window.end - window.first));
    }
  }
  return summary.perplexity();
}

// Window w scores n_w tokens, all windows together score N tokens, and d_w = nll_b - nll_a is the
// difference for window w. Both models score the same tokens, so a window that is hard to predict
// is hard for both, and d_w varies much less than nll_a and nll_b. The difference between the
// models is therefore significant with far less text than the perplexities alone would need. With
//
//   D = sum d_w / N = log(perplexity_b / perplexity_a)
//
// the change is exp(D) - 1. ratio_of_sums() estimates the standard error of D, and the derivative
// of exp(D) - 1 carries it over to the change: SE(change) = exp(D) SE(D).
PerplexityComparison compare_perplexity(const Engine& a, const Engine& b,
                                        std::span<const TokenId> tokens,
                                        const std::function<void(double share)>& progress) {
  const DefaultFloatState state;
  const Config &of_a = a.model().config(), &of_b = b.model().config();
  if (of_b.vocab_size != of_a.vocab_size) {
    reject("comparing perplexity takes models of one vocabulary, got ", of_a.vocab_size, " and ",
           of_b.vocab_size, " ids");
  }
  const std::size_t context = std::min({of_a.n_positions, of_b.n_positions, tokens.size()});
  if (context < 2) {
    reject("comparing perplexity takes a text of two tokens or more, and models of two positions ",
           "or more, got ", context);
  }
  const std::vector<TokenId> text(tokens.begin(), tokens.end());
  const auto windows_by = [&](const Engine& engine, double done) {
    ScoreOptions options = {.context = context, .stride = context / 2};
    if (progress) options.progress = [&](double share) { progress(done + share / 2.0); };
    return score(engine, {&text, 1}, options).front().windows;
  };
  const std::vector<ScoredWindow> by_a = windows_by(a, 0.0), by_b = windows_by(b, 0.5);
  std::vector<Part> parts[2], differences;
  for (std::size_t i = 0; i < by_a.size(); ++i) {
    const auto count = static_cast<double>(by_a[i].end - by_a[i].first);
    parts[0].push_back({by_a[i].nll, count});
    parts[1].push_back({by_b[i].nll, count});
    differences.push_back({by_b[i].nll - by_a[i].nll, count});
  }
  const Estimate mean = ratio_of_sums(differences);  // D
  // Close to 0, exp(D) - 1 is off by 2^-53. D itself is not more precise, because its sums are
  // rounded.
  const double ratio = exp_f64(mean.value);
  return {.tokens = text.size() - 1,
          .windows = by_a.size(),
          .perplexity = {exp_f64(ratio_of_sums(parts[0]).value),
                         exp_f64(ratio_of_sums(parts[1]).value)},
          .change = ratio - 1.0,
          .standard_error = ratio * mean.standard_error};
}

}  // namespace gpt2
