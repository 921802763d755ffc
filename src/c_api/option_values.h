#pragma once

#include <vector>

#include "c_api/arguments.h"
#include "c_api/option_members.h"

// Converts the values of options between C++ and C structs.

namespace gpt2::c_api {

/// The arrays that a C struct of options points to.
struct OptionStorage {
  std::vector<gpt2_sequence_bias> sequence_bias;
  std::vector<gpt2_logit_bias> logit_bias;
  std::vector<gpt2_ids> bad_words_ids;
};

/// Sets the options of one table from a C struct. Throws Error(invalid_argument) for a wrong
/// pointer or a value without a name; ranges are checked where the options are used.
SamplingOptions sampling_from(const gpt2_sampling_options& given);
void set_generation(GenerationOptions& options, const gpt2_generate_options& given);
BeamOptions beams_from(const gpt2_beam_options& given);

/// Sets the members of a C struct that the table lists. Arrays go to `storage`, and lists of ids
/// point into `from`; both must outlive the struct.
void fill(gpt2_sampling_options& to, const SamplingOptions& from, OptionStorage& storage);
void fill(gpt2_generate_options& to, const GenerationOptions& from, OptionStorage& storage);
void fill(gpt2_beam_options& to, const BeamOptions& from, OptionStorage& storage);

}  // namespace gpt2::c_api
