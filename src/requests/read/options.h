#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "gpt2/generate.h"
#include "gpt2/generation_config.h"
#include "gpt2/option_fields.h"
#include "requests/read/members.h"

// The options of a request, whose names are those of HuggingFace's generate() and of OpenAI's API.

namespace gpt2 {

/// The largest number of "logprobs". It keeps results that wait to be written small.
inline constexpr std::size_t kMaxLogprobs = 100;

/// Returns a row of the table with the range that applies to requests.
template <class Field>
[[nodiscard]] Field of_requests(Field field) {
  if (std::string_view(field.name) == "logprobs") field.range.max = kMaxLogprobs;
  return field;
}

/// Calls visit(field, values) for each row of the table that GenerationOptions and its
/// SamplingOptions have. `values` is the struct that has the field.
template <class Visitor>
void for_each_field(GenerationOptions& generation, const Visitor& visit) {
  for_each_generation_field([&](const auto& field) { visit(field, generation); });
  for_each_sampling_field([&](const auto& field) { visit(field, generation.sampling); });
}

/// Returns whether the table has a row with this name.
[[nodiscard]] bool is_option(std::string_view name);

/// Sets the options that the object has, by the names of the table, "max_tokens", "stop_strings"
/// and "do_sample". Does not read the rows that are `left_out`. Throws Error for a value that an
/// option cannot have. Combinations of options are checked only when the text begins.
void read_options(Members& members, GenerationOptions& options,
                  std::span<const std::string_view> left_out = {});

/// Returns a seed from the system's random numbers: of 32 bits only, because a short number is
/// easier to type again.
[[nodiscard]] std::uint64_t random_seed();

/// Sets the options of beam search that the object has. Throws Error as read_options() does.
void read_beam_options(Members& members, BeamOptions& options);

/// Returns the max length of a text together with its prompt: "max_length" or, if it is absent,
/// `otherwise`. Returns nothing if the object limits only the new tokens.
[[nodiscard]] std::optional<std::size_t> read_max_length(Members& members,
                                                         std::optional<std::size_t> otherwise = {});

/// Returns how many tokens may follow the prompt if the prompt and the text may have `max_length`
/// tokens together. Throws Error if there is no room for any.
[[nodiscard]] std::size_t new_tokens(std::size_t max_length, std::size_t prompt_tokens);

/// Returns the settings as a request, without those that a request has by default.
[[nodiscard]] nlohmann::ordered_json request_json(const GenerationConfig& config);

}  // namespace gpt2
