#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "generate/score/ratio_of_sums.h"
#include "gpt2/score.h"
#include "gpt2/tokenizer.h"

namespace gpt2 {

/// The numbers of words and bytes of a token.
struct ScoredUnits {
  std::size_t words = 0;
  std::size_t bytes = 0;
};

/// Returns the units of each token. A word begins at a byte that is not white space and that is the
/// first one or follows white space. `after_space` says whether the text before these tokens is
/// empty or ends with white space, and receives the same for the text that includes them.
[[nodiscard]] std::vector<ScoredUnits> units_of(std::span<const TokenId> text,
                                                const Tokenizer& tokenizer, bool& after_space);

/// Adds up windows and computes the perplexity from the sums.
class ScoreSummary {
 public:
  /// `units` are those of the tokens that the window scores; none if they are not counted.
  void add(const ScoredWindow& window, std::span<const ScoredUnits> units);

  [[nodiscard]] Perplexity perplexity() const;

 private:
  Perplexity counts_;                       // only the counts and the nll are set
  std::array<std::vector<Part>, 3> parts_;  // a Part for each window, in tokens, words and bytes
  Part weighted_ = {0.0, 0.0};
  Part unweighted_ = {0.0, 0.0};
};

}  // namespace gpt2
