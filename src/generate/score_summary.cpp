#include <array>
#include <numbers>
#include <vector>

#include "base/fail.h"
#include "base/float_state.h"
#include "generate/exp_f64.h"
#include "generate/ratio_of_sums.h"
#include "gpt2/score.h"

namespace gpt2 {
namespace {

// The numbers of words and bytes of some tokens.
struct Units {
  std::size_t words = 0;
  std::size_t bytes = 0;
};

// Returns the units of each token. A word begins at a byte that is not white space and that is the
// first one or follows white space.
std::vector<Units> units_of(std::span<const TokenId> text, const Tokenizer& tokenizer) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  std::vector<Units> units;
  bool after_space = true;
  for (const TokenId token : text) {
    const std::string_view bytes = tokenizer.bytes(token);
    Units& of_token = units.emplace_back();
    of_token.bytes = bytes.size();
    for (const char byte : bytes) {
      const bool is_space = kSpaces.find(byte) != kSpaces.npos;
      if (after_space && !is_space) ++of_token.words;
      after_space = is_space;
    }
  }
  return units;
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

// Adds up windows and computes the perplexities from the sums.
class Summary {
 public:
  void add(const ScoredWindow& window, const Units& units) {
    const std::size_t tokens = window.end - window.first;
    if (tokens == 0) return;
    result_.tokens += tokens;
    result_.words += units.words;
    result_.bytes += units.bytes;
    result_.nll += window.nll;
    ++result_.windows;
    const std::size_t counts[] = {tokens, units.words, units.bytes};
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

  [[nodiscard]] Perplexity result() const {
    Perplexity result = result_;
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
  Perplexity result_;                       // only the counts and the nll are set
  std::array<std::vector<Part>, 3> parts_;  // a Part for each window, in tokens, words and bytes
  Part weighted_ = {0.0, 0.0};
  Part unweighted_ = {0.0, 0.0};
};

}  // namespace

Perplexity perplexity(std::span<const TextScore> scores) {
  const DefaultFloatState state;
  check_windows(scores);
  Summary summary;
  for (const TextScore& text : scores) {
    for (const ScoredWindow& window : text.windows) summary.add(window, {});
  }
  return summary.result();
}

Perplexity perplexity(std::span<const TextScore> scores,
                      std::span<const std::vector<TokenId>> texts, const Tokenizer& tokenizer) {
  const DefaultFloatState state;
  check_windows(scores);
  if (texts.size() != scores.size()) {
    reject("got ", texts.size(), " texts with ", scores.size(),
           " scores: give the texts that were scored");
  }
  Summary summary;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (texts[i].size() != scores[i].tokens.size()) {
      reject("text ", i + 1, " has ", texts[i].size(), " tokens, but its score has ",
             scores[i].tokens.size(), ": give the texts that were scored");
    }
    const std::vector<Units> units = units_of(texts[i], tokenizer);
    for (const ScoredWindow& window : scores[i].windows) {
      Units sum;
      for (std::size_t t = window.first; t < window.end; ++t) {
        sum.words += units[t].words;
        sum.bytes += units[t].bytes;
      }
      summary.add(window, sum);
    }
  }
  return summary.result();
}

}  // namespace gpt2
