#include "cli/generate/settings.h"

#include <cstdint>
#include <limits>

#include "gpt2/generation_config.h"

namespace gpt2::cli {
namespace {

constexpr const char* kGenerateExamples =
    R"(If PROMPT is missing or -, the prompt is read from standard input, without one newline at its
end. A terminal, however, is read only if PROMPT is -, so that gpt2 alone starts at once. An empty
prompt lets the model begin a text of its own. A prompt that begins with a dash comes last, after
--, or after -p.

The prompt and its continuation go to standard output, followed by a newline if they do not end in
one. Tokens that stand for no text are left out. With --json, each text is one JSON object, in which
"text" is the continuation alone, and bytes that are not UTF-8 become U+FFFD. --logprobs N adds for
each token its log-probability, its rank (0: the likeliest) and the N likeliest tokens, before
temperature, filters and penalties.

--num-beams searches for the most probable text instead of drawing one. --state continues a session
that --save-state saved, and writes the same text as if it had never stopped.

The same arguments write the same text on every machine; another --seed writes a different one.

Examples:
  gpt2 "Once upon a time"
  gpt2 --seed 2 --temperature 1 --max-new-tokens 50 "The cat"
  gpt2 --stop . --stop $'\n' --no-echo "The moon is"
  gpt2 --greedy -- "- milk"
  gpt2 -m gpt2-medium --greedy --stats -f question.txt
  gpt2 --json "Once upon a time" | jq -r .text
  gpt2 --json --logprobs 5 -n 1 "The cat"
  gpt2 --num-beams 5 --num-return-sequences 2 "The moon is"
  gpt2 -n 0 --save-state novel.state -f novel.txt
  gpt2 --state novel.state " The end of it all was"
  gpt2 -m a-model-without-tokenizer --tokens "15496 11 995")";

void add_prompt_options(Options& options, GenerateSettings& settings) {
  options.begin_group("Prompt");
  const auto set_prompt = [&settings](const std::string& text) {
    if (text == "-") {
      settings.prompt_file = text;
    } else {
      settings.prompt = text;
    }
  };
  options.add("PROMPT", "", "The text to continue", set_prompt);
  options
      .add("-p,--prompt", "TEXT", "The same; TEXT is taken as it is, even if it begins with a dash",
           [&settings](const std::string& text) { settings.prompt = text; })
      .excluded = {"PROMPT"};
  options
      .add_file("-f,--file", settings.prompt_file,
                "Read the prompt from FILE, without one newline at its end")
      .excluded = {"PROMPT", "--prompt"};
  options.add_switch("--truncate", settings.writing.truncate,
                     "Leave out the beginning of a prompt that is longer than the context, so that "
                     "--max-new-tokens fit");
}

void add_output_options(Options& options, GenerateSettings& settings) {
  options.begin_group("Output");
  options.add_number("--samples", settings.writing.samples, {1, GenerationConfig::kMaxSamples},
                     "Write N different texts from the same prompt, which is read once, as "
                     "--sequence 0, 1, 2 ... write them alone");
  options.add_switch("--tokens", settings.writing.tokens,
                     "Read and write token ids, a text on each line; needs no tokenizer");
  options.add_choice("--format", "text|json",
                     "Write plain text (default), or one JSON object on one line",
                     [&settings](const std::string& name) { settings.as_json = name == "json"; });
  options.add_switch("--json", settings.as_json, "The same as --format json").excluded = {
      "--format"};
  add_field(options, "logprobs", settings.writing.options);
  options.add_switch("--no-echo", settings.no_echo, "Write the continuation without the prompt");
  options.add_switch("--no-newline", settings.no_newline,
                     "Do not add a newline at the end of the text");
  options.add_switch("--stats", settings.stats,
                     "Print speed and a hash of all logits to standard error, or add them to the "
                     "JSON");
}

void add_session_options(Options& options, GenerateSettings& settings) {
  options.begin_group("State of a session");
  options
      .add_file("--state", settings.state,
                "Continue from the state that --save-state wrote to FILE: the prompt, which may be "
                "empty, is appended to its text")
      .excluded = {"--truncate", "--samples"};
  options
      .add_file("--save-state", settings.save_state,
                "When the text ends, save the session (no readable text) to FILE, so that --state "
                "can continue it "
                "without computing it again")
      .excluded = {"--samples"};
  options.begin_group("Interactive use");
  options
      .add_switch("-i,--interactive", settings.talks,
                  "Read line after line and continue the text after each; the line /help lists the "
                  "commands")
      .excluded = {"--format",     "--json",    "--tokens",  "--no-echo",
                   "--no-newline", "--samples", "--truncate"};
  options
      .add_switch("--dialog", settings.dialog,
                  "Each line is a turn of a dialog, for models that were trained on dialogs, such "
                  "as DialoGPT; the end-of-text token ends each turn")
      .needed = "--interactive";
}

// Throws UsageError for an option that the format would ignore.
void check_format(const GenerateSettings& settings, const Options& options) {
  if (!settings.as_json && settings.writing.options.top_logprobs) {
    throw UsageError("--logprobs needs --json: plain text has no place for log-probabilities");
  }
  if (!settings.as_json) return;
  const std::string json = options.has("--json") ? "--json" : "--format json";
  for (const std::string option : {"--no-echo", "--no-newline"}) {
    if (!options.has(option)) continue;
    throw UsageError(option + " cannot be combined with " + json + ": give only one of them");
  }
}

void check_samples(const GenerateSettings& settings) {
  const Writing& writing = settings.writing;
  if (writing.samples == 1) return;
  if (writing.options.sampling.temperature == 0.0f) {
    throw UsageError(
        "--samples cannot be combined with --greedy or --temperature 0, which write the same text "
        "each time: give a temperature above 0");
  }
  if (settings.no_newline) {
    throw UsageError(
        "--no-newline cannot be combined with --samples: lines stand between the texts");
  }
  constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();
  if (writing.options.sampling.sequence > kLast - (writing.samples - 1)) {
    throw UsageError(concat("--sequence and --samples go beyond sequence ", kLast));
  }
}

// Throws UsageError if the min length that was given is more than the max length.
void check_lengths(const GenerationOptions& values, const Options& options) {
  const std::size_t min = values.sampling.min_new_tokens;
  if (!options.has("--min-new-tokens") || min <= values.max_new_tokens) return;
  throw UsageError("--min-new-tokens",
                   concat(min, " is more than --max-new-tokens, which is ", values.max_new_tokens));
}

// Throws UsageError for options that have no effect in beam search, which does not draw or draft
// tokens, does not slide, and does not search the text; or no effect without beam search.
void check_effects(const BeamOptions& beams, const Options& options) {
  if (beams.num_beams == 1) {
    for_each_beam_field([&](const auto& field) {
      const std::string name = option_name(field.name);
      if (name == "--num-beams" || !options.has(name)) return;
      throw UsageError(name + " needs --num-beams: give at least 2 beams");
    });
    return;
  }
  std::vector<std::string> contradictions = {"--samples",  "--greedy",     "--draft",
                                             "--overflow", "--stop",       "--logprobs",
                                             "--state",    "--save-state", "--interactive"};
  for_each_sampling_field([&](const auto& field) {
    if (field.role == OptionRole::draws) contradictions.push_back(option_name(field.name));
  });
  for (const std::string& name : contradictions) {
    if (!options.has(name)) continue;
    throw UsageError(name + " cannot be combined with " +
                     (options.has("--num-beams")
                          ? "--num-beams: give only one of them"
                          : "num_beams of the model's generation config: leave it out, or give "
                            "--num-beams 1"));
  }
}

// Throws UsageError for options that contradict beam search or one another.
void check_beams(const GenerateSettings& settings, const Options& options) {
  const BeamOptions& beams = settings.beams;
  check_effects(beams, options);
  if (beams.num_beams == 1) return;
  if (settings.writing.options.max_new_tokens == 0) {
    throw UsageError("--max-new-tokens", "0 cannot be combined with --num-beams");
  }
  if (beams.num_return_sequences > beams.num_beams) {
    throw UsageError("--num-return-sequences",
                     concat(beams.num_return_sequences, " is more than --num-beams, which is ",
                            beams.num_beams));
  }
  if (beams.num_return_sequences > 1 && settings.no_newline) {
    throw UsageError("--no-newline cannot be combined with several sequences");
  }
}

}  // namespace

GenerateSettings read_generate_settings(const Arguments& arguments) {
  GenerateSettings settings;
  Writing& writing = settings.writing;
  Options options("gpt2 generate", "Continues a text with a GPT-2 model", kGenerateExamples);
  add_prompt_options(options, settings);
  options.begin_group("Model");
  add_model_options(options, settings.model);
  add_draft_option(options, settings.model.draft,
                   "makes an int4 copy for long texts of large models, unless there are "
                   "--samples, and uses the text so far");
  add_output_options(options, settings);
  add_session_options(options, settings);
  add_writing_options(options, writing, /*of_one_text=*/true);
  options.begin_group("Beam search");
  add_beam_fields(options, settings.beams);
  options.begin_group("Other options");
  add_hf_defaults(options, writing);
  options.set_common({"--file", "--model", "--dtype", "--threads", "--samples", "--json",
                      "--interactive", "--temperature", "--top-k", "--top-p", "--seed", "--greedy",
                      "--max-new-tokens", "--stop", "--repetition-penalty"});
  options.parse(arguments);
  check_format(settings, options);
  if (settings.talks && !options.has("--overflow")) writing.options.overflow = Overflow::slide;
  settings.model.find();
  take_given(writing, options);
  take_hf_defaults(writing, &settings.beams, settings.model.places.config);
  check_samples(settings);
  check_lengths(writing.options, options);
  check_beams(settings, options);
  return settings;
}

}  // namespace gpt2::cli
