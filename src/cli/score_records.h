#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cli/records.h"
#include "gpt2/model.h"
#include "gpt2/score.h"

namespace gpt2::cli {

/// Throws Error unless the text has at least two tokens.
void check_scored_length(std::span<const TokenId> text);

/// Reads "context" and "choices", which are texts or lists of token ids. Throws Error if the model
/// cannot score them.
[[nodiscard]] ChoiceQuestion read_question(Members& members, const TokenReader& reader,
                                           const Config& config);

/// Returns the number of tokens of the context and of all choices.
[[nodiscard]] std::size_t size_of(const ChoiceQuestion& question);

/// Makes the records of scores. The references must outlive it.
class ScoreRecords {
 public:
  /// Without a tokenizer, the records have no numbers by word and by byte.
  ScoreRecords(const Model& model, const std::optional<Tokenizer>& tokenizer)
      : model_(model), tokenizer_(tokenizer) {}

  /// Returns the perplexity of one text. Throws Error if it is not finite, which means that the
  /// weights are damaged.
  [[nodiscard]] Perplexity perplexity(const std::vector<TokenId>& text,
                                      const TextScore& score) const;

  /// Returns the perplexity_json() of the text and, if `with_logprobs`, also its logprobs_json().
  [[nodiscard]] Json text_record(const std::vector<TokenId>& text, const TextScore& score,
                                 const ScoreOptions& options, bool with_logprobs) const;

  /// Returns the choices_json() of the question.
  [[nodiscard]] Json question_record(const ChoiceQuestion& question,
                                     std::span<const ChoiceScore> scores) const;

 private:
  const Model& model_;
  const std::optional<Tokenizer>& tokenizer_;
};

}  // namespace gpt2::cli
