#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "cli/json_members.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// Returns how many tokens may follow the prompt if the text may have `max_length` with it. Throws
/// Error if that is none.
[[nodiscard]] std::size_t new_tokens(std::size_t max_length, std::size_t prompt_tokens);

/// Changes `options` to what the members say, by the names of HuggingFace's generate() and OpenAI's
/// completions. `prompt_tokens` counts for max_length. Throws Error for a value of the wrong type
/// or, mostly, range; Scheduler::submit and its future find the others.
void read_options(Members& members, const nlohmann::json& object, std::size_t prompt_tokens,
                  GenerationOptions& options);

}  // namespace gpt2::cli
