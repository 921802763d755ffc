#include "generate/score/score_summary.h"

#include <numbers>

#include "base/fail.h"
#include "base/system/threads.h"
#include "base/utf8.h"
#include "generate/sampling/softmax.h"

namespace gpt2 {
namespace {

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

}  // namespace

std::vector<ScoredUnits> units_of(std::span<const TokenId> text, const Tokenizer& tokenizer,
                                  bool& after_space) {
  std::vector<ScoredUnits> units;
  for (const TokenId token : text) {
    const std::string_view bytes = tokenizer.bytes(token);
    ScoredUnits& of_token = units.emplace_back();
    of_token.bytes = bytes.size();
    for (const char byte : bytes) {
      const bool is_space = is_ascii_space(byte);
      if (after_space && !is_space) ++of_token.words;
      after_space = is_space;
    }
  }
  return units;
}

void ScoreSummary::add(const ScoredWindow& window, std::span<const ScoredUnits> units) {
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

Perplexity ScoreSummary::perplexity() const {
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
    bool after_space = true;
    const std::vector<ScoredUnits> units = units_of(texts[i], tokenizer, after_space);
    for (const ScoredWindow& window : scores[i].windows) {
      summary.add(window, std::span(units).subspan(window.first, window.end - window.first));
    }
  }
  return summary.perplexity();
}

}  // namespace gpt2
