#pragma once

#include <cstddef>

namespace gpt2 {

/// Decides how many tokens to draft before the next pass checks them, from the times measured so
/// far and from how many drafted tokens were accepted. The decision changes how long a text takes,
/// never the text.
///
/// With the probability p that the next drafted token is right, k drafted tokens give
/// 1 + p + ... + p^k tokens a pass on average, for a time of plain + k (draft + row): a plain pass,
/// k passes of the draft, and k more rows to check. The k with the most tokens for the time wins.
///
/// Drafts that are always wrong cost at most 1 % of the time and one plain pass. To ensure this,
/// the class keeps an account of time: it adds what drafts have saved and 1 % of each plain pass,
/// subtracts what drafts have cost, and allows no draft that costs more than the balance and one
/// plain pass.
class DraftLength {
 public:
  /// The number of tokens to draft, from 0 to `max`.
  [[nodiscard]] std::size_t next(std::size_t max) const;

  /// Records a pass without drafts.
  void note_plain(double seconds);

  /// Records a pass with one drafted token or more, and what it took to draft and to check them.
  void note_drafts(std::size_t drafted, std::size_t accepted, double draft_seconds,
                   double check_seconds);

 private:
  [[nodiscard]] double agreement() const;
  [[nodiscard]] double cost(std::size_t drafted) const;

  // Means of the latest measurements, in seconds; 0 before the first one.
  double plain_ = 0.0;  // a pass of one row
  double draft_ = 0.0;  // to draft a token
  double row_ = 0.0;    // what another row adds to a pass

  // Counts of recent drafted tokens, in which older tokens weigh less: the accepted ones, and those
  // that were refused and so ended a draft.
  double accepted_ = 0.0;
  double refused_ = 0.0;

  double account_ = 0.0;    // the balance, in seconds
  std::size_t passes_ = 0;  // since the last one without drafts
};

}  // namespace gpt2
