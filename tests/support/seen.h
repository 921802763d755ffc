#pragma once

#include <tuple>

#include "gpt2/observer.h"
#include "support/test.h"

namespace gpt2::test {

/// The observations by (slice, what, layer, head): the rows of all pieces, one after another. The
/// zeros at the end of a row of attention weights are removed, because their number depends on the
/// pieces.
class Seen {
 public:
  using Key = std::tuple<std::size_t, Observed, std::size_t, std::size_t>;

  Observer observer() {
    return {.see = [this](const Observation& seen) { add(seen); }};
  }

  void add(const Observation& seen) {
    std::vector<float>& all = rows[{seen.slice, seen.what, seen.layer, seen.head}];
    for (std::size_t i = 0; i < seen.rows; ++i) {
      std::span<const float> row = seen.row(i);
      if (seen.what == Observed::attention_weights) {
        const std::size_t keys = seen.first + i + 1;
        CHECK(std::ranges::all_of(row.subspan(keys), [](float weight) { return weight == 0.0f; }));
        row = row.first(keys);
      }
      all.insert(all.end(), row.begin(), row.end());
    }
  }

  std::map<Key, std::vector<float>> rows;

  [[nodiscard]] const std::vector<float>& at(Observed what, std::size_t layer, std::size_t head = 0,
                                             std::size_t slice = 0) const {
    return rows.at({slice, what, layer, head});
  }
};

}  // namespace gpt2::test
