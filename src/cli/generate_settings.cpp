#include "cli/generate_settings.h"

#include <cstdint>

#include "cli/beam_settings.h"
#include "cli/draft_model.h"
#include "cli/hf_defaults.h"
#include "cli/load_model.h"
#include "cli/overflow_settings.h"
#include "cli/sampling_settings.h"
#include "cli/talk.h"
#include "gpt2/generation_config.h"

namespace gpt2::cli {
namespace {

constexpr const char* kExamples =
    R"(If PROMPT is missing or -, the prompt is read from standard input, without one newline at its
end. A terminal, however, is read only if PROMPT is -, so that gpt2 alone starts at once, with an
empty prompt. An empty prompt lets the model begin a text of its own. A prompt that begins with a
dash comes last, after --, or after -p.

The prompt and its continuation go to standard output, followed by a newline if they do not end in
one, so that several texts stay apart; --no-newline leaves that newline out. Tokens that stand for
no text are left out, as in HuggingFace. With --ignore-eos, the end-of-text token is one of them, so
that the next text follows without a break; --json has its id.

With --json, each text is one JSON object on one line, which is written when the text ends. "text"
is the continuation alone and "token_ids" are its tokens, among them those of a stop string. With
--tokens, "prompt" and "text" are left out. JSON cannot hold bytes that are not UTF-8: they become
U+FFFD, while the ids still tell what they were. "finish_reason" is end_of_text, stop_string, length
(of --max-new-tokens), context_full or cancelled (by Ctrl-C).

--logprobs N adds "logprobs" to the JSON: for each of "token_ids" its log-probability, its rank (0:
the likeliest) and the N likeliest tokens. They are the model's own, before temperature, filters and
penalties. A log-probability of minus infinity is null.

--num-beams searches for the most probable text instead of drawing one. In the JSON of its texts,
"score" takes the place of "seed" and "sequence".

--save-state FILE saves the session, so that a later command with --state FILE continues it without
computing it again, and writes the same text as if the session had never stopped.
It writes the new prompt and its continuation. A stop string that ended the text is in the state.

The same arguments write the same text on every machine; another --seed writes a different one.

Examples:
  gpt2 "Once upon a time"
  gpt2 --seed 2 --temperature 1 --max-new-tokens 50 "The cat"
  gpt2 --stop . --stop $'\n' --no-echo "The moon is"
  gpt2 --greedy -- "- milk"
  gpt2 -m gpt2-medium --greedy --stats -f question.txt
  gpt2 -p "Once upon a time" -n 50 -s 2 -t 1
  gpt2 --json "Once upon a time" | jq -r .text
  gpt2 --json --logprobs 5 -n 1 "The cat"
  gpt2 --num-beams 5 --num-return-sequences 2 "The moon is"
  gpt2 -n 0 --save-state novel.state -f novel.txt
  gpt2 --state novel.state " The end of it all was"
  gpt2 -m a-model-without-tokenizer --tokens "15496 11 995")";

// Throws UsageError if the min length that was given is more than the max length.
void check_lengths(const GenerateSettings& settings, const CLI::App& app) {
  const std::size_t min = settings.generation.sampling.min_new_tokens;
  const std::size_t max = settings.generation.max_new_tokens;
  if (app.count("--min-new-tokens") == 0 || min <= max) return;
  throw UsageError("--min-new-tokens",
                   format("%zu is more than --max-new-tokens, which is %zu", min, max));
}

// Throws UsageError for options that contradict each other.
void check_samples(const GenerateSettings& settings, bool greedy) {
  if (settings.samples == 1) return;
  if (greedy || settings.generation.sampling.temperature == 0.0f) {
    throw UsageError(
        "--samples cannot be combined with --greedy, which writes the same text each "
        "time: give a temperature");
  }
  if (settings.no_newline) {
    throw UsageError(
        "--no-newline cannot be combined with --samples: lines stand between the texts");
  }
  const std::uint64_t first = settings.generation.sampling.sequence;
  if (first + settings.samples - 1 > UINT32_MAX) {
    throw UsageError(format("--sequence and --samples go beyond sequence %u", UINT32_MAX));
  }
}

// Throws UsageError for an option that the format would ignore.
void check_format(const GenerateSettings& settings, const CLI::App& app) {
  if (!settings.as_json && settings.generation.top_logprobs) {
    throw UsageError("--logprobs needs --json: plain text has no place for log-probabilities");
  }
  if (!settings.as_json) return;
  const std::string json = app.count("--json") != 0 ? "--json" : "--format json";
  for (const std::string option : {"--no-echo", "--no-newline"}) {
    if (app.count(option) == 0) continue;
    throw UsageError(option + " cannot be combined with " + json + ": give only one of them");
  }
}

void add_prompt_options(CLI::App& app, GenerateSettings& settings) {
  const auto set_prompt = [&settings](const std::string& text) {
    if (text == "-") {
      settings.prompt_file = text;
    } else {
      settings.prompt = text;
    }
  };
  app.add_option_function<std::string>("PROMPT", set_prompt, "The text to continue");
  app.add_option("-p,--prompt", settings.prompt,
                 "The same; TEXT is taken as it is, even if it begins with a dash")
      ->option_text("TEXT")
      ->excludes("PROMPT");
  add_file(app, "-f,--file", settings.prompt_file,
           "Read the prompt from FILE, without one newline at its end")
      ->excludes("PROMPT", "--prompt");
  add_switch(app, "--truncate", settings.truncate,
             "Leave out the beginning of a prompt that is longer than "
             "the context, so that --max-new-tokens fit");
}

void add_model_options(CLI::App& app, GenerateSettings& settings, std::string& model) {
  add_model_option(app, model);
  add_dtype_option(app, settings.dtype);
  add_kv_option(app, settings.kv_type);
  add_threads_option(app, settings.threads);
  add_draft_option(app, settings.draft,
                   "makes an int4 copy for long texts of large models, unless there are "
                   "--samples, and uses the text so far");
}

void add_number_of_texts(CLI::App& app, GenerateSettings& settings) {
  add_number(app, "--samples", settings.samples, 1, GenerationConfig::kMaxSamples,
             "Write N different texts from the same prompt, which is "
             "read once, as --sequence 0, 1, 2 ... write them alone");
  add_number(app, "--sequence", settings.generation.sampling.sequence, 0, UINT32_MAX,
             "Which of the different texts of a seed to write");
}

void add_output_options(CLI::App& app, GenerateSettings& settings) {
  add_switch(app, "--tokens", settings.tokens,
             "Read and write token ids, a text on each line; needs no tokenizer");
  const auto set_format = [&settings](const std::string& name) {
    settings.as_json = name == "json";
    if (name == "json" || name == "text") return;
    throw UsageError("--format", "expected text or json, found '" + name + "'");
  };
  app.add_option_function<std::string>("--format", set_format,
                                       "Write plain text (default), or one JSON object on one line")
      ->option_text("text|json");
  add_switch(app, "--json", settings.as_json, "The same as --format json")->excludes("--format");
  const auto set_logprobs = [&settings](const std::string& text) {
    std::size_t& count = settings.generation.top_logprobs.emplace();
    if (read_number(text, count)) return;
    throw UsageError("--logprobs", "expected a whole number, found '" + text + "'");
  };
  app.add_option_function<std::string>("--logprobs", set_logprobs,
                                       "Add to the JSON the log-probability of each token, "
                                       "and the N likeliest tokens in its place")
      ->option_text("N");
  add_switch(app, "--no-echo", settings.no_echo, "Write the continuation without the prompt");
  add_switch(app, "--no-newline", settings.no_newline,
             "Do not add a newline at the end of the text");
  add_switch(app, "--stats", settings.stats,
             "Print speed and a hash of all logits to standard error, or add them to the JSON");
}

}  // namespace

GenerateSettings read_generate_settings(Arguments arguments,
                                        void (*check)(const std::string& prompt)) {
  GenerateSettings settings;
  std::string model = GPT2_BUNDLED_MODEL;
  CLI::App app("Continues a text with a GPT-2 model", "gpt2 generate");
  app.footer(kExamples);
  app.option_defaults()->group("Prompt");
  add_prompt_options(app, settings);
  app.option_defaults()->group("Model");
  add_model_options(app, settings, model);
  app.option_defaults()->group("Output");
  add_number_of_texts(app, settings);
  add_output_options(app, settings);
  app.option_defaults()->group("State of a session");
  add_state_options(app, settings.state);
  app.option_defaults()->group("Interactive use");
  add_talk_options(app, settings);
  bool greedy = false;
  add_sampling_options(app, settings, greedy);
  add_overflow_options(app, settings.generation);
  add_beam_options(app, settings.beams);
  app.option_defaults()->group("Other options");
  bool hf_defaults = false;
  add_switch(app, "--hf-defaults", hf_defaults,
             "For options not given, use generation_config.json, as HuggingFace's generate() does");
  parse(app, arguments);
  settings.given = given_options(app);
  if (check != nullptr && app.count("PROMPT") != 0 && settings.prompt) {
    // A -- before the prompt marks the word as a prompt, so it needs no check. A -- at the end of
    // the arguments does not.
    const std::size_t at_end = arguments.back() == "--" ? 1 : 0;
    if (app.remaining().size() <= at_end) check(*settings.prompt);
  }
  check_format(settings, app);
  if (settings.talks && app.count("--overflow") == 0) {
    settings.generation.overflow = Overflow::slide;
  }
  settings.model = model_path(model);
  if (hf_defaults) take_hf_defaults(settings, app);
  check_samples(settings, greedy);
  check_lengths(settings, app);
  check_beams(app, settings);
  if (greedy) settings.generation.sampling.temperature = 0.0f;
  return settings;
}

}  // namespace gpt2::cli
