#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/hash.h"
#include "base/paths.h"
#include "cli/batch/batch.h"
#include "gpt2/version.h"
#include "requests/read/completion_request.h"

namespace gpt2::cli {
namespace {

constexpr const char* kBatchExamples =
    R"(Each line of IN is a JSON object with a "prompt", or with "token_ids", and any options by
HuggingFace's names; the options of the command line are the defaults. Lines of OpenAI's batch
format ("custom_id", "url", "body") are understood, too. If the first line does not begin with {,
each line is a prompt as plain text; --lines or --jsonl decide otherwise. IN may be -, which is
standard input.

  {"prompt": "Once upon a time", "max_new_tokens": 50, "stop": ["\n\n"]}
  {"custom_id": "a", "token_ids": [258, 401], "do_sample": false}

A line with a "text" is scored instead, as by gpt2 score --jsonl, and a line with "choices" of a
"context" as by gpt2 score --choices.

  {"text": "The cat sat.", "logprobs": 2}
  {"context": "The cat", "choices": [" sat", " moon"]}

OUT receives one JSON object for each line, in the same order: its number from 0 ("line"), an "id",
the "text", its "token_ids" and the "finish_reason", or the scores, or an "error". Text j of line i
is the one that gpt2 generate --sequence S writes, where S is i times --samples, plus j. With
--format openai, OUT has what OpenAI's batch API returns, by default of 16 tokens, and S is i times
1048576, plus j.

If the run is interrupted in any way, the same command resumes it where OUT ends. The ids show
whether the lines, the options or the model have changed, which is refused. Standard input must
be given again from its beginning.

Several machines share the work with --shard I/N, which writes OUT.I-of-N. A command that mpirun or
srun started takes its share without --shard; indexed jobs of Kubernetes need /N. In the end,
--merge joins the files to what one machine would have written.

The exit status is 3 if the run is complete, but some lines have errors; that of a share is 0 then.

Examples:
  gpt2 batch prompts.jsonl -o texts.jsonl
  gpt2 batch prompts.jsonl -o texts.jsonl -m gpt2 -n 100 --samples 4
  gpt2 batch prompts.txt -o texts.jsonl
  gpt2 batch requests.jsonl -o answers.jsonl --format openai
  jq -Rc '{text: .}' sentences.txt | gpt2 batch - -o scores.jsonl
  mpirun -n 8 gpt2 batch prompts.jsonl -o texts.jsonl -t 4
  gpt2 batch prompts.jsonl -o texts.jsonl --merge)";

void add_output_options(Options& options, BatchSettings& settings) {
  Writing& defaults = settings.defaults;
  options.add_switch("--lines", settings.lines, "Each line is a prompt as plain text, not JSON");
  options.add_switch("--jsonl", settings.jsonl, "Each line is a JSON object").excluded = {
      "--lines"};
  options.add_switch("--tokens", defaults.tokens,
                     "Read and write token ids alone; needs no tokenizer");
  options.add_choice("--format", "gpt2|openai",
                     "The format of OUT: the command's own (default), or the answers of OpenAI's "
                     "batch API, one record a line",
                     [&settings](const std::string& name) { settings.openai = name == "openai"; });
  options.add_switch("--truncate", defaults.truncate,
                     "Leave out the beginning of prompts that are longer than the context, so that "
                     "--max-new-tokens fit");
  options.add_number("--samples", defaults.samples, {1, GenerationConfig::kMaxSamples},
                     "Write N different texts for each line, one record each");
  add_field(options, "logprobs", defaults.options, OptionRange{0, kMaxLogprobs});
}

void add_share_options(Options& options, BatchSettings& settings,
                       std::optional<std::string>& share) {
  options.add("--shard", "I/N|/N|all",
              "Take the I-th of N shares of the lines, from 0; all: take all lines, whatever a "
              "launcher says",
              [&share](const std::string& text) { share = text; });
  options.add_switch("--merge", settings.merge, "Write no texts, but join the files of all shares");
}

void check_openai_format(const Options& options) {
  for (const char* const name : {"--lines", "--tokens", "--samples"}) {
    if (!options.has(name)) continue;
    throw UsageError("--format openai", concat("cannot be combined with ", name, ": remove one"));
  }
}

// Two runs with the same hash, the same model and the same input write the same output. Options
// that do not affect the output are left out, so that they may differ when a run is resumed.
std::uint64_t hash_of_options(const Options& options) {
  constexpr const char* kIrrelevant[] = {"IN",          "--output", "--model", "--base",
                                         "--tokenizer", "--shard",  "--merge", "--draft",
                                         "--threads",   "--quiet"};
  std::string text = GPT2_VERSION_STRING;
  for (const Option& option : options.all()) {
    const std::string name = option.name();
    if (!option.is_given() || std::ranges::find(kIrrelevant, name) != std::end(kIrrelevant)) {
      continue;
    }
    if (name == "--format" && option.values.back() == "gpt2") continue;  // the default
    text += '\n' + name;
    for (const std::string& value : option.values) text += '\0' + value;
  }
  return hash_bytes(text);
}

// With --hf-defaults, these files affect the output, too.
std::uint64_t hash_of_generation_config(const std::filesystem::path& model, std::uint64_t hash) {
  const std::filesystem::path directory = directory_of(model);
  for (const char* const name : {"generation_config.json", "config.json"}) {
    const std::filesystem::path file = directory / name;
    if (exists(file)) hash = hash_bytes(read_input(file.string()), hash);
  }
  return hash;
}

}  // namespace

BatchSettings read_batch_settings(const Arguments& arguments) {
  BatchSettings settings;
  Writing& defaults = settings.defaults;
  std::optional<std::string> share;
  Options options("gpt2 batch",
                  "Continues or scores every line of a file; resumes a run that was interrupted",
                  kBatchExamples);
  options.add_file("IN", settings.input, "The prompts, one a line").is_required = true;
  options.add_file("-o,--output", settings.output, "Append the texts to FILE; resume where it ends")
      .is_required = true;
  add_model_options(options, settings.model);
  add_draft_option(options, settings.model.draft, "uses the text so far");
  add_output_options(options, settings);
  add_share_options(options, settings, share);
  add_hf_defaults(options, defaults);
  add_writing_options(options, defaults, /*of_one_text=*/false);
  options.begin_group("Options");
  options.parse(arguments);
  if (settings.openai) check_openai_format(options);
  if (settings.output == "-") {
    throw UsageError("-o -", "the run is resumed where the output ends: give a file");
  }
  if (defaults.draws_seed) {
    throw UsageError("--seed random", "the run could not be continued: give a number");
  }
  if (settings.merge) return settings;
  settings.shard = choose_shard(share);
  settings.hash = hash_of_options(options);
  settings.model.find();
  if (defaults.has_hf_defaults) {
    settings.hash = hash_of_generation_config(settings.model.places.config, settings.hash);
  }
  take_given(defaults, options);
  take_hf_defaults(defaults, nullptr, settings.model.places.config);
  if (!options.has("--max-new-tokens") && !defaults.has_hf_defaults) {
    defaults.options.max_new_tokens = request_defaults(!settings.openai).max_new_tokens;
  }
  return settings;
}

}  // namespace gpt2::cli
