#include "cli/generate/writing.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "base/fail.h"
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

}  // namespace

std::string option_name(std::string_view field) {
  std::string name = concat("--", field);
  std::ranges::replace(name, '_', '-');
  return name;
}

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

}  // namespace gpt2::cli
