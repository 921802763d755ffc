#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.h"
#include "gpt2/generate.h"
#include "gpt2/generation_config.h"
#include "gpt2/option_fields.h"
#include "gpt2/tokenizer.h"
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

/// Whether an option has an effect in a beam search, and in a text that is drawn. A beam search
/// does not draw tokens, slide the context, search the text or report log-probabilities.
struct OptionEffect {
  bool in_search, in_drawing;
};
template <class Field>
[[nodiscard]] constexpr OptionEffect effect_of(const Field& field) {
  const std::string_view name = field.name;
  if (field.role == OptionRole::searches) {
    return {true, name == "num_beams" || name == "num_return_sequences"};
  }
  const bool is_of_drawing = field.role == OptionRole::draws || name == "logprobs" ||
                             name == "stop" || name == "overflow" || name == "keep";
  return {!is_of_drawing, true};
}

/// Texts that a request has in place of token ids; read_bad_words() turns them into bad_words_ids.
struct BadWords {
  std::vector<std::string> words = {};
};
inline constexpr OptionField kBadWords = {
    "bad_words",
    &BadWords::words,
    {},
    OptionRole::names_tokens,
    OptionOrigin::own,
    "Never write the tokens of TEXT, with or without a space before it"};

/// Calls visit(field) for each option of a request, in the order of the table.
template <class Visitor>
void for_each_option(const Visitor& visit) {
  for_each_generation_field(visit);
  for_each_sampling_field(visit);
  visit(kBadWords);
  for_each_beam_field(visit);
}

/// Reads "bad_words". Throws RequestError without a tokenizer, and for a text for which it has no
/// tokens.
void read_bad_words(Members& members, SamplingOptions& options,
                    const std::optional<Tokenizer>& tokenizer);

[[nodiscard]] bool is_option(std::string_view name);

/// Sets the options that the request has, but for the rows that are `left_out`, and those that it
/// does not have to their defaults. "do_sample": false is a temperature of 0. Throws RequestError
/// for a value that an option cannot have in a model with this vocabulary. Combinations of options
/// are checked only when the text begins.
void read_options(Members& members, GenerationOptions& options, std::size_t vocab_size,
                  std::span<const std::string_view> left_out = {});

/// The same for the options of beam search.
void read_beam_options(Members& members, BeamOptions& options);

/// Returns a seed from the system's random numbers: of 32 bits only, because a short number is
/// easier to type again.
[[nodiscard]] std::uint64_t random_seed();

/// Returns the defaults of requests that --hf-defaults takes from the model's generation config.
[[nodiscard]] nlohmann::json hf_defaults(const std::filesystem::path& model);

/// Returns the settings as a request, without those that a request has by default.
[[nodiscard]] Json request_json(const GenerationConfig& config);

}  // namespace gpt2
