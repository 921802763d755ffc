#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/options/options.h"
#include "requests/read/members.h"

// Options that put members into a request, which is a JSON object in the names of the table. What
// an option may be is checked when the request is read; here, only whether a word is a value at
// all.

namespace gpt2::cli {

/// Adds an option that puts a number into the request, which checks it.
Option& add_number_member(Options& options, const std::string& names, nlohmann::json& request,
                          const std::string& help);

void add_field(Options& options, std::string_view field, nlohmann::json& request);

/// Adds the options that determine how the next token is chosen and when a text ends, in groups.
/// With `of_one_text`, these include --sequence and --seed random.
void add_writing_options(Options& options, nlohmann::json& request, bool of_one_text);

/// Adds the options of beam search, but for the number of texts.
void add_beam_options(Options& options, nlohmann::json& request);

/// Adds --samples, which --num-return-sequences is another name of.
Option& add_samples(Options& options, nlohmann::json& request, const std::string& help);

void add_hf_defaults(Options& options, bool& has_hf_defaults);

/// Returns hf_defaults() for a command whose defaults cannot be a beam search. Throws UsageError if
/// they are one.
[[nodiscard]] nlohmann::json hf_defaults_without_beams(const std::filesystem::path& model);

/// Throws the mistake in a request in the command's words, with the names of options in place of
/// those of members: a UsageError if `given`, what the options have put into the request, has the
/// member that is wrong, and else an Error.
[[noreturn]] void refuse_request(const RequestError& error, const nlohmann::json& given);

/// Returns read(), which reads a request, or calls refuse_request().
template <class Read>
auto read_arguments(const nlohmann::json& given, const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const RequestError& error) {
    refuse_request(error, given);
  }
}

// The options that /set of a talk can change are those that choose tokens and end texts. They have
// the names of the table in gpt2/option_fields.h, such as top_k, which may also be written as
// top-k.

/// Puts an option into the request: a word as on the command line ("" is that of a switch) or, if
/// the value begins with a bracket or a quote, JSON, such as ["\n", "Tom:"]. Throws Error for a
/// name that is unknown and for a value that is not JSON.
void set_option(nlohmann::json& request, const std::string& name, const std::string& value);

/// Throws Error for a name that is unknown.
void unset_option(nlohmann::json& request, const std::string& name);

/// Returns a line for each option with its value: that of the request or else of `defaults`. A star
/// marks those that the request sets.
[[nodiscard]] std::string option_values(const nlohmann::json& request,
                                        const nlohmann::json& defaults);

}  // namespace gpt2::cli
