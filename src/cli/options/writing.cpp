#include "cli/options/writing.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>
#include <utility>

#include "base/fail.h"
#include "cli/terminal/console.h"
#include "generate/options/check_options.h"
#include "gpt2/generation_config.h"

namespace gpt2::cli {
namespace {

void add_seed(Options& options, Writing& writing, bool may_be_random) {
  const auto set = [&writing](const std::string& text) {
    if (text == "random") return draw_seed(writing);
    const OptionRange range = {0, 18446744073709551615.0};
    writing.options.sampling.seed = Options::parse_number<std::uint64_t>("--seed", text, range);
  };
  const char* const help = may_be_random ? "Different numbers give different texts; 'random' draws "
                                           "a number and prints it (default 0)"
                                         : "Different numbers give different texts (default 0)";
  options.add("-s,--seed", "N", help, set);
}

// Returns whether options were given that replace or exclude --samples.
bool asks_for_one_text(const Writing& writing, const BeamOptions* beams) {
  const std::initializer_list<const char*> names = {"--samples", "--greedy",     "--no-newline",
                                                    "--state",   "--save-state", "--interactive"};
  return (beams != nullptr && beams->num_beams > 1) ||
         writing.options.sampling.temperature == 0.0f ||
         std::ranges::any_of(names, [&](const char* name) { return writing.given.contains(name); });
}

// Calls visit(field, values) for each option that /set can change, by role.
template <class Visitor>
void for_each_row(Writing& writing, const Visitor& visit) {
  using enum OptionRole;
  for (const OptionRole role : {draws, limits_length, penalizes, names_tokens}) {
    for_each_field(writing.options, [&](const auto& field, auto& values) {
      if (field.role == role) visit(field, values);
    });
  }
  visit(kBadWords, writing);
}

// Calls visit(field, values) for the option with this name.
template <class Visitor>
void with_row(Writing& writing, const std::string& name, const Visitor& visit) {
  std::string wanted = name;
  std::ranges::replace(wanted, '-', '_');
  bool is_found = false;
  for_each_row(writing, [&](const auto& field, auto& values) {
    if (wanted != field.name) return;
    is_found = true;
    visit(field, values);
  });
  if (!is_found) reject("no option ", quote(name), ": /set lists the options");
}

// The settings of a talk whose command line has no options. A talk slides without --overflow.
Writing default_writing() {
  Writing writing;
  writing.options.overflow = Overflow::slide;
  return writing;
}

// The part of the settings that has the rows of one table.
template <class Part>
const Part& part_of(const Writing& writing) {
  if constexpr (std::is_same_v<Part, Writing>) {
    return writing;
  } else if constexpr (std::is_same_v<Part, SamplingOptions>) {
    return writing.options.sampling;
  } else {
    return writing.options;
  }
}

// Returns the texts in a value: strings of JSON or, without quotes, one text, which may have the
// same escapes, such as \\n.
std::vector<std::string> texts_in(const char* option, const std::string& value) {
  std::istringstream stream(value.starts_with('"') ? value : '"' + value + '"');
  std::vector<std::string> texts;
  try {
    for (nlohmann::json text; (stream >> std::ws).peek() != EOF;) {
      stream >> text;
      texts.push_back(text.get<std::string>());
    }
    return texts;
  } catch (const nlohmann::json::exception&) {
    reject(option, ": expected texts in quotes such as \"\\n\" \"Tom:\", found ", quote(value));
  }
}

// Returns the words of a value, each of which OptionCodec<T>::read_text() reads.
std::vector<std::string> words_in(const char* option, const OptionForm& form,
                                  const std::string& value) {
  if (!form.is_list) return {form.word.empty() && value.empty() ? "true" : value};
  if (form.word == "TEXT") return texts_in(option, value);
  std::istringstream words(value);
  std::vector<std::string> list(std::istream_iterator<std::string>(words), {});
  return list.empty() ? std::vector<std::string>{""} : list;
}

}  // namespace

void add_fields(Options& options, OptionRole role, GenerationOptions& values,
                std::initializer_list<std::string_view> left_out) {
  for_each_field(values, [&](const auto& field, auto& of) {
    const bool is_left_out = std::ranges::count(left_out, std::string_view(field.name)) != 0;
    if (field.role == role && !is_left_out) add_row(options, field, of);
  });
}

void add_field(Options& options, std::string_view name, GenerationOptions& values,
               std::optional<OptionRange> range) {
  for_each_field(values, [&](auto field, auto& of) {
    if (field.name != name) return;
    field.range = range.value_or(field.range);
    add_row(options, field, of);
  });
}

void add_beam_fields(Options& options, BeamOptions& values) {
  for_each_beam_field([&](const auto& field) { add_row(options, field, values); });
}

void add_writing_options(Options& options, Writing& writing, bool of_one_text) {
  GenerationOptions& values = writing.options;
  options.begin_group("How tokens are drawn");
  add_fields(options, OptionRole::draws, values, {"seed", "sequence"});
  add_seed(options, writing, of_one_text);
  if (of_one_text) add_field(options, "sequence", values);
  options
      .add_switch("--greedy", writing.is_greedy,
                  "Always take the most likely token, as with --temperature 0; then --top-k, "
                  "--seed and so on have no effect")
      .excluded = {"--temperature"};

  options.begin_group("How long the text is");
  add_fields(options, OptionRole::limits_length, values);
  options.at("--stop").excluded = {"--tokens"};
  options.at("--keep").needed = "--overflow";
  options.at("--ignore-eos").excluded = {"--min-new-tokens", "--min-length",
                                         "--exponential-decay-length-penalty"};

  options.begin_group("Less repetition");
  add_fields(options, OptionRole::penalizes, values);
  options.begin_group("Single tokens and their scores");
  add_row(options, kBadWords, writing);
  options.at("--bad-words").excluded = {"--tokens"};
  add_fields(options, OptionRole::names_tokens, values);
}

void draw_seed(Writing& writing) {
  writing.options.sampling.seed = random_seed();
  writing.draws_seed = true;
}

void add_hf_defaults(Options& options, Writing& writing) {
  options.add_switch("--hf-defaults", writing.has_hf_defaults,
                     "For options not given, use generation_config.json, as HuggingFace's "
                     "generate() does");
}

void take_hf_defaults(Writing& writing, BeamOptions* beams, const std::filesystem::path& model) {
  if (!writing.has_hf_defaults) return;
  const auto is_given = [&](const std::string& name) { return writing.given.contains(name); };
  const auto config = GenerationConfig::load(model);
  if (beams == nullptr && config.beams.num_beams > 1) {
    throw UsageError(
        "--hf-defaults",
        concat("num_beams in the model's generation config is ", config.beams.num_beams,
               ", but this command has no beam search: leave --hf-defaults out"));
  }
  if (beams != nullptr) {
    for_each_beam_field([&](const auto& field) {
      // The other options have no effect without several beams, which are the first row.
      const bool is_used = beams->num_beams > 1 || std::string_view(field.name) == "num_beams";
      if (is_used && !is_given(option_name(field.name))) {
        beams->*field.member = config.beams.*field.member;
      }
    });
  }
  for_each_sampling_field([&](const auto& field) {
    const bool is_greedy = field.name == std::string_view("temperature") && writing.is_greedy;
    if (field.origin != OptionOrigin::huggingface || is_greedy) return;
    const bool is_replaced =
        field.name == std::string_view("bad_words_ids") && is_given("--bad-words");
    if (is_replaced || is_given(option_name(field.name))) return;
    writing.options.sampling.*field.member = config.sampling.*field.member;
  });
  if (!asks_for_one_text(writing, beams)) writing.samples = config.num_return_sequences;
  if (is_given("--max-new-tokens")) return;
  if (!config.max_new_tokens) writing.max_length = config.max_length;
  writing.options.max_new_tokens = config.max_new_tokens.value_or(config.max_length);
}

void take_given(Writing& writing, const Options& options) {
  for (const Option& option : options.all()) {
    if (option.is_given()) writing.given.insert(option.name());
  }
  if (writing.is_greedy) writing.options.sampling.temperature = 0.0f;
}

void add_bad_words(SamplingOptions& options, const std::vector<std::string>& words,
                   const Tokenizer& tokenizer) {
  for (const std::string& word : words) {
    std::vector<std::string> forms = {word};
    if (!word.starts_with(' ')) forms.push_back(' ' + word);
    for (const std::string& form : forms) {
      std::size_t lost = 0;
      std::vector<TokenId> ids = tokenizer.encode(form, {.add_special_tokens = false}, &lost);
      if (ids.empty() || lost != 0) {
        throw UsageError(concat("the model's vocabulary has no tokens for the bad word ",
                                quote(form), ": leave it out, because the model cannot write it"));
      }
      options.bad_words_ids.push_back(std::move(ids));
    }
  }
}

void check_limits(const Writing& writing, const Config& config, NameOf name_of) {
  try {
    for_each_sampling_field([&](const auto& field) {
      if (!writing.given.contains(option_name(field.name))) return;
      check_ids(name_of(field.name), writing.options.sampling.*field.member, config.vocab_size);
    });
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  // A slide makes room for a token of the prompt and for a new one.
  const std::size_t max_keep = std::max<std::size_t>(config.n_positions, 2) - 2;
  if (writing.options.keep > max_keep) {
    throw UsageError(name_of("keep"), concat("expected a whole number from 0 to ", max_keep,
                                             ", because the model has ", config.n_positions,
                                             " positions, found ", writing.options.keep));
  }
  check_logprobs(writing.options.top_logprobs.value_or(0), config);
}

void check_logprobs(std::size_t count, const Config& config) {
  if (count <= config.vocab_size) return;
  throw UsageError("--logprobs", concat("expected a whole number from 0 to ", config.vocab_size,
                                        ", the size of the vocabulary, found ", count));
}

void set_option(Writing& writing, const std::string& name, const std::string& value) {
  if (name == "seed" && value == "random") return draw_seed(writing);
  with_row(writing, name, [&](const auto& field, auto& values) {
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    const OptionForm form = OptionCodec<T>::form(field.range);
    T read = {};  // the values of a list replace those before
    for (const std::string& word : words_in(field.name, form, value)) {
      if (OptionCodec<T>::read_text(word, field.range, read)) continue;
      reject(field.name, ": expected ", form.text, ", found ", quote(word));
    }
    values.*field.member = read;
    writing.given.insert(option_name(field.name));
    // In a talk, a max_length limits each answer, and max_new_tokens already has the same number.
    writing.max_length.reset();
  });
}

void unset_option(Writing& writing, const std::string& name) {
  const Writing defaults = default_writing();
  with_row(writing, name, [&](const auto& field, auto& values) {
    values.*field.member = part_of<std::remove_cvref_t<decltype(values)>>(defaults).*field.member;
    writing.given.erase(option_name(field.name));
    writing.max_length.reset();
  });
}

std::string option_values(const Writing& writing) {
  const Writing defaults = default_writing();
  Writing shown = writing;
  std::string text;
  for_each_row(shown, [&](const auto& field, const auto& values) {
    using Codec = OptionCodec<typename std::remove_cvref_t<decltype(field)>::Value>;
    const auto& by_default = part_of<std::remove_cvref_t<decltype(values)>>(defaults);
    const std::string value = Codec::write_text(values.*field.member);
    const bool is_changed = value != Codec::write_text(by_default.*field.member);
    text += format("%c %-33s %s\n", is_changed ? '*' : ' ', field.name, value.c_str());
  });
  return text + "* not the default; /unset OPTION restores it\n";
}

}  // namespace gpt2::cli
