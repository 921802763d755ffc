#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "cli/json_members.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// Returns how many tokens may follow the prompt if the prompt and the text may have `max_length`
/// tokens together. Throws Error if there is no room for any.
[[nodiscard]] std::size_t new_tokens(std::size_t max_length, std::size_t prompt_tokens);

/// Sets `options` from the members of the object, whose names are those of HuggingFace's generate()
/// and OpenAI's completions. max_length includes the `prompt_tokens` tokens of the prompt. Throws
/// Error for a value of the wrong type and for most values out of range; Scheduler::submit and its
/// future report the others.
void read_options(Members& members, const nlohmann::json& object, std::size_t prompt_tokens,
                  GenerationOptions& options);

}  // namespace gpt2::cli
