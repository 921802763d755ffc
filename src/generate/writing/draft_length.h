#pragma once

#include <cstddef>

namespace gpt2 {

/// The times and the counts of a pass that checked drafted tokens.
struct DraftedPass {
  std::size_t steps = 0;        ///< the number of passes of the draft model; 0 if there is none
  std::size_t drafted = 0;      ///< the number of drafted tokens of all texts
  std::size_t accepted = 0;     ///< the accepted tokens among them
  std::size_t refused = 0;      ///< texts whose draft ended with a refused token or had no token
  double draft_seconds = 0.0;   ///< the time of the passes of the draft model
  double check_seconds = 0.0;   ///< the time of the pass that checked the tokens
  std::size_t all_drafted = 0;  ///< all tokens that it checked, including other kinds of drafts
};

/// Decides how many tokens each text of a pass drafts before the pass checks them, from the times
/// measured so far and from the share of drafted tokens that were accepted. The decision affects
/// only the time, never the text.
///
/// With the probability p that the next drafted token is right, a text with k drafted tokens gets
/// 1 + p + ... + p^k tokens from a pass on average. A pass over n texts, m of which draft, takes
/// plain + k (draft + m row) seconds: the time of a plain pass, of k passes of the draft model, and
/// of m k more rows to check. next() returns the k with the most tokens of all texts per second.
///
/// Drafts that are always wrong cost at most 1 % of the time plus one plain pass, or the first
/// draft, whose cost is not known in advance, if that is more. To ensure this, the class keeps an
/// account of time: it adds what drafts have saved and 1 % of each plain pass, subtracts what
/// drafts have cost, and allows no draft that costs more than the balance plus one plain pass.
///
/// Drafts do not end early at tokens that the draft model is unsure of. Measured with an f32 model
/// of 88 million parameters and int4 drafts, ending them where the two best scores differed by less
/// than 0.2 changed the speed by -6 to +1 %, and by less than 0.5, by -9 to -20 %: a few more
/// drafted tokens cost less than another pass of the model.
class DraftLength {
 public:
  /// Sets the number of texts in the next pass. If it has changed, the times are measured again,
  /// because they depend on it.
  void set_texts(std::size_t texts) noexcept;

  /// Returns the number of tokens that each of `drafting` texts should draft, from 0 to `max`.
  [[nodiscard]] std::size_t next(std::size_t max, std::size_t drafting) const;

  /// Records a pass without drafts.
  void note_plain(double seconds);

  /// Records a pass with one or more drafted tokens.
  void note_drafts(const DraftedPass& pass);

 private:
  [[nodiscard]] double agreement() const;

  std::size_t texts_ = 1;

  // Means of the latest measurements, in seconds.
  double plain_ = 0.0;         // a pass without drafts; 0 before the first one
  double draft_ = 0.0;         // a pass of the draft model
  double row_ = 0.0;           // the time that each further row adds to a pass
  bool knows_drafts_ = false;  // whether draft_ and row_ have been measured

  // Counts of recent drafted tokens, in which older tokens weigh less: the accepted ones, and those
  // that were refused and so ended a draft.
  double accepted_ = 0.0;
  double refused_ = 0.0;

  double account_ = 0.0;    // the balance, in seconds
  std::size_t passes_ = 0;  // passes with drafts since the last pass without drafts
};

}  // namespace gpt2
