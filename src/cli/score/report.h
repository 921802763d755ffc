#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/lines/records.h"
#include "gpt2/model.h"
#include "gpt2/score.h"

// Scores as JSON and as text.

namespace gpt2::cli {

/// Returns the result of `score` as lines of text.
[[nodiscard]] std::string perplexity_in_words(const Perplexity& found, const ScoreOptions& options);

/// Returns the numbers of Perplexity, each with its standard error. Numbers by word and by byte are
/// null without a tokenizer, and standard errors are null if there is a single window.
[[nodiscard]] Json perplexity_json(const Perplexity& found, const ScoreOptions& options);

/// Makes the records of scores, which are the same in `score` and in `batch`. The references must
/// outlive it.
class ScoreRecords {
 public:
  /// Without a tokenizer, the records have no numbers by word and by byte.
  ScoreRecords(const Model& model, const std::optional<Tokenizer>& tokenizer)
      : model_(model), tokenizer_(tokenizer) {}

  /// Throws Error if the perplexity is not finite, which means that the weights are damaged.
  void check(const Perplexity& found) const;

  /// Returns the perplexity_json() of one text and, if `with_logprobs`, the logprobs_json(). Throws
  /// what check() throws.
  [[nodiscard]] Json text_record(const std::vector<TokenId>& text, const TextScore& score,
                                 const ScoreOptions& options, bool with_logprobs) const;

  /// Returns the scores of the choices and the indices of the best ones.
  [[nodiscard]] Json question_record(const ChoiceQuestion& question,
                                     std::span<const ChoiceScore> scores) const;

 private:
  const Model& model_;
  const std::optional<Tokenizer>& tokenizer_;
};

}  // namespace gpt2::cli
