#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/options/options.h"
#include "generate/options/option_codec.h"
#include "gpt2/beam_search.h"
#include "gpt2/config.h"
#include "gpt2/generate.h"
#include "gpt2/tokenizer.h"
#include "requests/read/completion_request.h"
#include "requests/read/options.h"

namespace gpt2::cli {

/// How texts are written: the settings that `generate` and `batch` have in common.
struct Writing {
  GenerationOptions options = request_defaults();
  std::vector<std::string> bad_words = {};  ///< texts; see add_bad_words()
  std::size_t samples = 1;                  ///< how many texts to write for each prompt
  bool tokens = false;                      ///< prompts and texts are token ids
  bool truncate = false;                    ///< removes the beginning of a prompt that is too long
  bool is_greedy = false;                   ///< --greedy, which take_given() applies
  bool has_hf_defaults = false;             ///< --hf-defaults
  bool draws_seed = false;                  ///< whether the seed was drawn at random
  std::optional<std::size_t> max_length = {};  ///< replaces max_new_tokens; includes the prompt
  std::set<std::string> given = {};            ///< the long names of the options that were given
};

/// The command's row for texts in place of bad_words_ids.
inline constexpr OptionField kBadWords = {
    "bad_words",
    &Writing::bad_words,
    {},
    OptionRole::names_tokens,
    OptionOrigin::own,
    "Never write the tokens of TEXT, with or without a space before it"};

/// Adds the option of a row. The current value is the default, which the help shows.
template <class Row, class Values>
void add_row(Options& options, const Row& field, Values& values) {
  using Codec = OptionCodec<typename Row::Value>;
  auto& value = values.*field.member;
  const std::string name = option_name(field.name);
  const OptionForm form = Codec::form(field.range);
  std::string help = field.help;
  if (form.word == "N" && Codec::write_text(value) != "none") {
    help += concat(" (default ", Codec::write_text(value), ")");
  }
  if (form.is_list) help += "; may be repeated";
  const auto set = [=, &value](const std::string& text) {
    if (Codec::read_text(text, field.range, value)) return;
    throw UsageError(name, "expected " + form.text + ", found " + quote(text));
  };
  const std::string names = name == "--max-new-tokens" ? "-n," + name : name;
  options.add(names, form.word, help, set).is_repeatable = form.is_list;
}

/// Adds the options whose rows have this role, except those that are `left_out`. Their values are
/// the defaults, which the help shows.
void add_fields(Options& options, OptionRole role, GenerationOptions& values,
                std::initializer_list<std::string_view> left_out = {});

/// Adds the option of one row. `range` replaces the range of the row.
void add_field(Options& options, std::string_view field, GenerationOptions& values,
               std::optional<OptionRange> range = {});

/// Adds the options of beam search.
void add_beam_fields(Options& options, BeamOptions& values);

/// Draws the seed at random.
void draw_seed(Writing& writing);

/// Adds the options that determine how the next token is chosen and when a text ends, in groups.
/// With `of_one_text`, these include --sequence and --seed random.
void add_writing_options(Options& options, Writing& writing, bool of_one_text);

/// Adds --hf-defaults.
void add_hf_defaults(Options& options, Writing& writing);

/// Without `beams`, the command has no beam search. With --hf-defaults, sets the options that were
/// not given on the command line to the values that HuggingFace's generate() would use for the
/// model. Throws what GenerationConfig::load() throws, and UsageError if the model's generation
/// config sets a beam search and the command has none. REQUIRES: take_given() was called.
void take_hf_defaults(Writing& writing, BeamOptions* beams, const std::filesystem::path& model);

/// Applies --greedy, and adds the names of the options that were given to writing.given. REQUIRES:
/// `options` have been parsed.
void take_given(Writing& writing, const Options& options);

/// Converts the texts of --bad-words to token ids and adds them to the options. Each text is
/// forbidden both as it is and with a space before it, because the first token of a word inside a
/// text includes the space before it. Throws UsageError for a text that the vocabulary cannot
/// spell.
void add_bad_words(SamplingOptions& options, const std::vector<std::string>& words,
                   const Tokenizer& tokenizer);

/// Throws UsageError if an option that was given names a token that the model does not have, or if
/// --keep or --logprobs is too large for it. Does not check options from the model's own generation
/// config. The message names an option as `name_of` does.
using NameOf = std::string (*)(std::string_view field);
void check_limits(const Writing& writing, const Config& config, NameOf name_of = option_name);

// The options that /set of a talk can change are those that choose tokens and end texts. They have
// the names of the table in gpt2/option_fields.h, such as top_k, which may also be written as
// top-k.

/// Sets an option. A switch may have the value "". A list takes all its values at once; texts may
/// be strings of JSON, such as "\n" "Tom:". Throws Error for a name that is unknown, and for a
/// value that the option cannot have; `writing` may have changed in this case.
void set_option(Writing& writing, const std::string& name, const std::string& value);

/// Sets an option to the command's default. Throws Error for a name that is unknown.
void unset_option(Writing& writing, const std::string& name);

/// Returns a line for each option with its value. A star marks those without the default value.
[[nodiscard]] std::string option_values(const Writing& writing);

/// Throws UsageError if the number of --logprobs is larger than the vocabulary.
void check_logprobs(std::size_t count, const Config& config);

}  // namespace gpt2::cli
