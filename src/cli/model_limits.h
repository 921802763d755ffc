#pragma once

#include <cstddef>

#include "cli/generate_settings.h"
#include "gpt2/config.h"

// Options whose range depends on the model. Like all invalid arguments they throw UsageError, so
// that the message names the option and the command ends with status 2.

namespace gpt2::cli {

/// Throws UsageError if an option of the command line names a token that the model does not have,
/// or if --keep or --logprobs is too large for it. Does not check options from the model's own
/// generation config.
void check_limits(const GenerateSettings& settings, const Config& config);

/// Throws UsageError if the model of --draft has a vocabulary of another size.
void check_draft(const Config& draft, const Config& config);

/// Throws UsageError if the number of --logprobs is larger than the vocabulary.
void check_logprobs(std::size_t count, const Config& config);

}  // namespace gpt2::cli
