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
/// An account keeps drafts that are always wrong from costing more than 1 % of the time and one
/// plain pass: what drafts gain is paid into it, what they cost is taken out, and there is no draft
/// that it cannot pay for.
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

  // Drafted tokens of late, the older the lighter: those accepted, and those that ended a draft.
  double accepted_ = 0.0;
  double refused_ = 0.0;

  double account_ = 0.0;   // seconds
  std::size_t passes_ = 0;  // since the last one without drafts
};

}  // namespace gpt2
