#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "requests/options.h"
#include "cli/options/options.h"
#include "gpt2/beam_search.h"
#include "gpt2/generate.h"

// The options of the command that the table in gpt2/option_fields.h describes: one for each row,
// with its name, its range and its help.

namespace gpt2::cli {

/// Returns the option for a row: "--min-p" for "min_p", and "--bad-words" for "bad_words_ids".
[[nodiscard]] std::string option_name(std::string_view field);

/// Adds the options whose rows have this role, except those that are `left_out`. Their values are
/// the defaults, which the help shows.
void add_fields(Options& options, OptionRole role, GenerationOptions& values,
                std::initializer_list<std::string_view> left_out = {});

/// Adds the option of one row. `range` replaces the range of the row.
void add_field(Options& options, std::string_view field, GenerationOptions& values,
               std::optional<OptionRange> range = {});

/// Adds the options of beam search.
void add_beam_fields(Options& options, BeamOptions& values);

/// Returns the names of the options that have an effect only if tokens are drawn.
[[nodiscard]] std::vector<std::string> drawing_options();

}  // namespace gpt2::cli
