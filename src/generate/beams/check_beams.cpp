#include "generate/beams/check_beams.h"

#include "base/fail.h"
#include "generate/options/check_numbers.h"

namespace gpt2 {

void check_beams(const BeamOptions& o) {
  for_each_beam_field(
      [&](const auto& field) { check_numbers(field.name, field.range, o.*field.member); });
  check_enumerator(o.early_stopping, EarlyStopping::never, "early_stopping", "EarlyStopping");
  if (o.num_return_sequences > o.num_beams) {
    reject("num_return_sequences must be at most num_beams, which is ", o.num_beams, ", got ",
           o.num_return_sequences);
  }
  if (o.num_beams % o.num_beam_groups != 0) {
    reject("num_beam_groups must divide num_beams, which is ", o.num_beams, ", got ",
           o.num_beam_groups);
  }
  if (o.num_beam_groups == 1 && o.diversity_penalty != 0.0f) {
    reject("diversity_penalty is ", o.diversity_penalty,
           ", which needs groups: set num_beam_groups to 2 or more, or diversity_penalty to 0");
  }
  if (o.num_beam_groups > 1 && o.diversity_penalty == 0.0f) {
    reject("num_beam_groups is ", o.num_beam_groups,
           ", which needs a diversity_penalty above 0: without one, all groups are the same");
  }
}

}  // namespace gpt2
