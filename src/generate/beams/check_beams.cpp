#include "generate/beams/check_beams.h"

#include <cmath>

#include "base/check_enumerator.h"
#include "base/fail.h"

namespace gpt2 {

void check_beams(const BeamOptions& o) {
  if (o.num_beams < 1 || o.num_beams > BeamOptions::kMaxBeams) {
    reject("num_beams must be from 1 to ", BeamOptions::kMaxBeams, ", got ", o.num_beams);
  }
  if (o.num_return_sequences < 1 || o.num_return_sequences > o.num_beams) {
    reject("num_return_sequences must be from 1 to num_beams, which is ", o.num_beams, ", got ",
           o.num_return_sequences);
  }
  constexpr double kMaxPenalty = BeamOptions::kMaxLengthPenalty;
  if (!(std::abs(o.length_penalty) <= kMaxPenalty)) {
    reject("length_penalty must be a number from ", -kMaxPenalty, " to ", kMaxPenalty, ", got ",
           o.length_penalty);
  }
  check_enumerator(o.early_stopping, EarlyStopping::never, "early_stopping", "EarlyStopping");
  if (o.num_beam_groups < 1 || o.num_beams % o.num_beam_groups != 0) {
    reject("num_beam_groups must divide num_beams, which is ", o.num_beams, ", got ",
           o.num_beam_groups);
  }
  constexpr float kMaxDiversity = BeamOptions::kMaxDiversityPenalty;
  if (!(o.diversity_penalty >= 0.0f && o.diversity_penalty <= kMaxDiversity)) {
    reject("diversity_penalty must be a number from 0 to ", kMaxDiversity, ", got ",
           o.diversity_penalty);
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
