#pragma once

#include <string>

#include "cli/generate_settings.h"

namespace gpt2::cli {

/// /set: changes the settings as `gpt2 generate --top-k 10` would, for the words "top_k 10". Throws
/// UsageError if the sampler has no such option, or if its value is invalid; in that case, the
/// settings may have changed.
void set_option(GenerateSettings& settings, const std::string& words);

/// /help OPTION: returns the help of an option of /set. Throws UsageError if there is none.
[[nodiscard]] std::string help_of_option(const std::string& name);

}  // namespace gpt2::cli
