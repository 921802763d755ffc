#include "cli/batch_settings.h"

#include <algorithm>

#include "cli/batch_input.h"
#include "cli/draft_model.h"
#include "cli/hf_defaults.h"
#include "cli/line_reader.h"
#include "cli/load_model.h"
#include "cli/overflow_settings.h"
#include "cli/sampling_settings.h"
#include "gpt2/version.h"

namespace gpt2::cli {
namespace {

constexpr const char* kExamples =
    R"(Each line of IN is a JSON object with a "prompt", or with "token_ids", and any options by
HuggingFace's names; the options of the command line are the defaults. Lines of OpenAI's batch
format ("custom_id", "url", "body") are understood, too. With --lines, each line is a prompt as
plain text. IN may be -, which is standard input.

  {"prompt": "Once upon a time", "max_new_tokens": 50, "stop": ["\n\n"]}
  {"custom_id": "a", "token_ids": [258, 401], "do_sample": false}

A line with a "text" is scored instead, as gpt2 score --jsonl does, and may set "logprobs", "stride"
and "context", the tokens of a window. A line with "choices" of a "context" is scored as gpt2 score
--choices does. Here, "text" and "context" may be lists of token ids.

  {"text": "The cat sat.", "logprobs": 2}
  {"context": "The cat", "choices": [" sat", " moon"]}

OUT receives one JSON object for each line, in the same order: its number from 0 ("line"), an "id",
the "text", its "token_ids" and the "finish_reason", or the scores, or an "error". An empty line is
an error, too, so that the objects stay aligned with the lines; with --lines, it is an empty prompt.
Text j of line i is the one that gpt2 generate --sequence S writes, where S is i times --samples,
plus j; "sequence" repeats it.

If the run is interrupted in any way, the same command resumes it where OUT ends. The ids show
whether the lines, the options or the model have changed, which is refused. Standard input must
be given again from its beginning.

Several machines share the work with --shard I/N, which takes the lines whose number, divided by N,
leaves I, and writes OUT.I-of-N. If mpirun, srun, or an array job of Slurm or SGE started the
command, it takes its share without --shard. For array jobs of PBS and indexed jobs of
Kubernetes, and to start single jobs of an array again, give /N; indices then begin at 0 (SGE: 1).
In the end, --merge joins the files of all shares to what one machine would have written.

The exit status is 3 if the run is complete, but some lines have errors. In this case, a share
returns 0, so that a launcher does not end the other shares, and --merge returns 3.

Examples:
  gpt2 batch prompts.jsonl -o texts.jsonl
  gpt2 batch prompts.jsonl -o texts.jsonl -m gpt2 -n 100 --samples 4
  gpt2 batch --lines prompts.txt -o texts.jsonl
  jq -Rc '{text: .}' sentences.txt | gpt2 batch - -o scores.jsonl
  mpirun -n 8 gpt2 batch prompts.jsonl -o texts.jsonl -t 4
  gpt2 batch prompts.jsonl -o texts.jsonl --merge)";

void add_output_options(CLI::App& app, BatchSettings& settings) {
  GenerateSettings& defaults = settings.defaults;
  add_switch(app, "--lines", settings.lines, "Each line is a prompt as plain text, not JSON");
  add_switch(app, "--tokens", defaults.tokens,
             "Read and write token ids alone; needs no tokenizer");
  add_switch(app, "--truncate", defaults.truncate,
             "Leave out the beginning of prompts that are longer than "
             "the context, so that --max-new-tokens fit");
  add_number(app, "--samples", defaults.samples, 1, 1 << 20,
             "Write N different texts for each line, one record each");
  const auto set_logprobs = [&defaults](const std::string& text) {
    std::size_t& count = defaults.generation.top_logprobs.emplace();
    if (read_number(text, count) && count <= kMaxLogprobs) return;
    throw UsageError("--logprobs", format("expected a whole number from 0 to %zu, found '%s'",
                                          kMaxLogprobs, text.c_str()));
  };
  app.add_option_function<std::string>("--logprobs", set_logprobs,
                                       "Add the log-probability of each token, and the N "
                                       "likeliest tokens in its place")
      ->option_text("N");
}

// Two runs with the same hash, the same model and the same input write the same output. Options
// that do not affect the output are left out, so that they may differ when a run is resumed.
std::uint64_t hash_of_options(const CLI::App& app) {
  constexpr const char* kIrrelevant[] = {"IN",      "--output", "--model",  "--shard",
                                         "--merge", "--draft",  "--threads"};
  std::string text = GPT2_VERSION_STRING;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::ranges::find(kIrrelevant, name) != std::end(kIrrelevant)) {
      continue;
    }
    text += '\n' + name;
    for (const std::string& value : option->results()) text += '\0' + value;
  }
  return hash_bytes(text);
}

// With --hf-defaults, these files affect the output, too.
std::uint64_t hash_of_generation_config(const std::filesystem::path& model, std::uint64_t hash) {
  const auto directory = is_directory(model) ? model : model.parent_path();
  for (const char* const name : {"generation_config.json", "config.json"}) {
    const std::filesystem::path file = directory / name;
    if (exists(file)) hash = hash_bytes(read_file(file.string()), hash);
  }
  return hash;
}

}  // namespace

BatchSettings read_batch_settings(Arguments arguments) {
  BatchSettings settings;
  GenerateSettings& defaults = settings.defaults;
  std::string model = GPT2_BUNDLED_MODEL;
  std::optional<std::string> share;
  bool greedy = false;
  bool hf_defaults = false;
  CLI::App app("Continues or scores every line of a file; resumes a run that was interrupted",
               "gpt2 batch");
  app.footer(kExamples);
  add_file(app, "IN", settings.input, "The prompts, one JSON object a line")->required();
  add_file(app, "-o,--output", settings.output, "Append the texts to FILE; resume where it ends")
      ->required();
  add_model_option(app, model);
  add_dtype_option(app, defaults.dtype);
  add_kv_option(app, defaults.kv_type);
  add_threads_option(app, defaults.threads);
  add_draft_option(app, defaults.draft, "uses the text so far");
  add_output_options(app, settings);
  app.add_option("--shard", share,
                 "Take the I-th of N shares of the lines, from 0; all: take "
                 "all lines, whatever a launcher says")
      ->option_text("I/N|/N|all");
  add_switch(app, "--merge", settings.merge, "Write no texts, but join the files of all shares");
  add_switch(app, "--hf-defaults", hf_defaults,
             "For options not given, use generation_config.json, as "
             "HuggingFace's generate() does");
  add_sampling_options(app, defaults, greedy);
  app.get_option("--seed")->description("Different numbers give different texts (default 0)");
  add_overflow_options(app, defaults.generation);
  parse(app, std::move(arguments));
  defaults.given = given_options(app);
  if (settings.output == "-") {
    throw UsageError("-o -", "the run is resumed where the output ends: give a file");
  }
  if (defaults.draws_seed) {
    throw UsageError("--seed random", "the run could not be continued: give a number");
  }
  if (settings.merge) return settings;
  settings.shard = choose_shard(share);
  settings.hash = hash_of_options(app);
  defaults.model = model_path(model);
  if (hf_defaults) {
    take_hf_defaults(defaults, app);
    settings.hash = hash_of_generation_config(defaults.model, settings.hash);
  }
  if (greedy) defaults.generation.sampling.temperature = 0.0f;
  return settings;
}

}  // namespace gpt2::cli
