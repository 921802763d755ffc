#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "cli/batch/batch.h"
#include "cli/options/request_options.h"
#include "gpt2/generation_config.h"
#include "gpt2/version.h"
#include "requests/read/members.h"
#include "requests/read/options.h"

namespace gpt2::cli {
namespace {

constexpr const char* kBatchExamples =
    R"(Each line of IN is a JSON object with a "prompt", or with "token_ids", and any options by
HuggingFace's names; the options of the command line are the defaults. If the first line does not
begin with { and is not empty, or with --lines, each line is a prompt as plain text. IN may be -,
which is standard input.

  {"prompt": "Once upon a time", "max_new_tokens": 50, "stop": ["\n\n"]}
  {"custom_id": "a", "token_ids": [258, 401], "do_sample": false}

A line with a "text" is scored instead, as by gpt2 score --jsonl, and a line with "choices" of a
"context" as by gpt2 score --choices. A line with "messages" is a chat, and "input" becomes vectors,
as OpenAI's API has them. A line of OpenAI's batch format ("custom_id", "url", "body") may have any
"url" to which gpt2 serve answers with a run of the model, such as /v1/responses.

  {"text": "The cat sat.", "logprobs": 2}
  {"context": "The cat", "choices": [" sat", " moon"]}
  {"messages": [{"role": "user", "content": "Where is the cat?"}], "max_tokens": 20}
  {"custom_id": "b", "url": "/v1/embeddings", "body": {"input": ["The cat", "The dog"]}}

OUT receives one JSON object for each line, in the same order: its number from 0 ("line"), an "id",
the "text", its "token_ids" and the "finish_reason", or the scores, or the members of OpenAI's
answer, or an "error". Text j of line i is the one that gpt2 generate --sequence S writes, where S
is i times --samples, plus j. With --format openai, OUT has what OpenAI's batch API returns, by
default of 16 tokens; there and for chats, S is i times 1048576, plus j.

If the run is interrupted in any way, the same command resumes it where OUT ends. The ids show
whether the lines, the options or the model have changed, which is refused. Standard input must
be given again from its beginning.

Several machines share the work with --shard I/N, which writes OUT.I-of-N. A command that mpirun or
srun started takes its share without --shard; indexed jobs of Kubernetes need /N. In the end, sort
joins the files to what one machine would have written.

The exit status is 3 if the run is complete, but some lines have errors; that of a share is 0 then.

Examples:
  gpt2 batch prompts.jsonl -o texts.jsonl
  gpt2 batch prompts.jsonl -o texts.jsonl -m gpt2 -n 100 --samples 4
  gpt2 batch prompts.txt -o texts.jsonl
  gpt2 batch requests.jsonl -o answers.jsonl --format openai
  jq -Rc '{text: .}' sentences.txt | gpt2 batch - -o scores.jsonl
  mpirun -n 8 gpt2 batch prompts.jsonl -o texts.jsonl -t 4
  sort -ms -t: -k2,2n texts.jsonl.*-of-8 > texts.jsonl)";

void add_output_options(Options& options, BatchSettings& settings) {
  options.add_switch("--lines", settings.lines, "Each line is a prompt as plain text, not JSON");
  options.add_switch("--tokens", settings.tokens,
                     "Read and write token ids alone; needs no tokenizer");
  options.add_choice("--format", "gpt2|openai",
                     "The format of OUT: the command's own (default), or the answers of OpenAI's "
                     "batch API, one record a line",
                     [&settings](const std::string& name) { settings.openai = name == "openai"; });
  options.add("--truncate", "",
              "Leave out the beginning of prompts that are longer than the context, so that "
              "--max-new-tokens fit",
              [&settings](const std::string&) { settings.defaults["truncate"] = true; });
  add_samples(options, settings.defaults,
              "Write N different texts for each prompt, one record each");
  add_field(options, "logprobs", settings.defaults);
}

void check_openai_format(const Options& options) {
  for (const char* const name : {"--lines", "--tokens", "--samples"}) {
    if (!options.has(name)) continue;
    throw UsageError("--format openai", concat("cannot be combined with ", name, ": remove one"));
  }
}

// Two runs with the same hash, the same model and the same input write the same output. What the
// model computes is not a part of it.
std::uint64_t hash_of(const BatchSettings& settings) {
  const nlohmann::json all = {GPT2_VERSION_STRING, settings.defaults, settings.samples,
                              settings.lines,      settings.openai,   settings.tokens};
  std::string bytes;
  nlohmann::json::to_cbor(all, bytes);  // unlike dump(), takes texts that are not UTF-8
  return hash_bytes(bytes);
}

}  // namespace

BatchSettings read_batch_settings(const Arguments& arguments) {
  BatchSettings settings;
  bool has_hf_defaults = false;
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
  options.add("--shard", "I/N|/N|all",
              "Take the I-th of N shares of the lines, from 0; all: take all lines, whatever a "
              "launcher says",
              [&share](const std::string& text) { share = text; });
  add_hf_defaults(options, has_hf_defaults);
  add_writing_options(options, settings.defaults, /*of_one_text=*/false);
  options.begin_group("Options");
  options.parse(arguments);
  if (settings.openai) check_openai_format(options);
  if (settings.output == "-") {
    throw UsageError("-o -", "the run is resumed where the output ends: give a file");
  }
  if (settings.defaults.value("seed", nlohmann::json()) == "random") {
    throw UsageError("--seed random", "the run could not be continued: give a number");
  }
  settings.shard = choose_shard(share);
  settings.model.find();
  if (has_hf_defaults) {
    nlohmann::json defaults = hf_defaults_without_beams(settings.model.places.config);
    merge_request(defaults, settings.defaults);
    settings.defaults = std::move(defaults);
  }
  settings.samples = settings.defaults.value("num_return_sequences", settings.samples);
  settings.defaults.erase("num_return_sequences");
  settings.hash = hash_of(settings);
  return settings;
}

}  // namespace gpt2::cli
