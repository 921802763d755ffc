#include "cli/generate/generate.h"

#include "cli/options/request_options.h"
#include "requests/read/options.h"

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
  gpt2 --stop . --stop '\n' --no-echo "The moon is"
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
  options.add("--truncate", "",
              "Leave out the beginning of a prompt that is longer than the context, so that "
              "--max-new-tokens fit",
              [&settings](const std::string&) { settings.request["truncate"] = true; });
}

void add_output_options(Options& options, GenerateSettings& settings) {
  options.begin_group("Output");
  add_samples(options, settings.request,
              "Write N different texts from the same prompt, which is read once, as --sequence 0, "
              "1, 2 ... write them alone; with --num-beams, the N best ones");
  options.add_switch("--tokens", settings.tokens,
                     "Read and write token ids, a text on each line; needs no tokenizer");
  options.add_switch("--json", settings.as_json, "Write each text as a JSON object on one line")
      .excluded = {"--no-echo", "--no-newline"};
  add_field(options, "logprobs", settings.request);
  options.at("--logprobs").needed = "--json";
  options.add_switch("--no-echo", settings.no_echo, "Write the continuation without the prompt");
  options
      .add_switch("--no-newline", settings.no_newline,
                  "Do not add a newline at the end of the text")
      .excluded = {"--samples"};
  options.add_switch("--stats", settings.stats,
                     "Print speed and a hash of all logits to standard error, or add them to the "
                     "JSON");
}

void add_session_options(Options& options, GenerateSettings& settings) {
  options.begin_group("State of a session");
  options.add_file("--state", settings.state,
                   "Continue from the state that --save-state wrote to FILE: the prompt, which may "
                   "be empty, is appended to its text");
  options.add_file("--save-state", settings.save_state,
                   "When the text ends, save the session (no readable text) to FILE, so that "
                   "--state can continue it without computing it again");
  options.begin_group("Interactive use");
  options
      .add_switch("-i,--interactive", settings.talks,
                  "Read line after line and continue the text after each; the line /help lists the "
                  "commands")
      .excluded = {"--json", "--tokens", "--no-echo", "--no-newline", "--truncate"};
  options
      .add_switch("--dialog", settings.dialog,
                  "Each line is a turn of a dialog, for models that were trained on dialogs, such "
                  "as DialoGPT; the end-of-text token ends each turn")
      .needed = "--interactive";
}

// Sets the defaults of the request: those of HuggingFace, and over these, those of the command.
void set_defaults(GenerateSettings& settings, const Options& options, bool has_hf_defaults) {
  nlohmann::json& defaults = settings.defaults;
  if (has_hf_defaults) {
    defaults = hf_defaults(settings.model.places.config);
  }
  if (settings.no_newline) defaults.erase("num_return_sequences");
  if (settings.talks) {
    // Each answer of a talk has its own length, and the context slides.
    merge_request(defaults, {{"overflow", "slide"}});
    if (defaults.contains("max_length")) {
      defaults.emplace("max_new_tokens", defaults["max_length"]);
      defaults.erase("max_length");
    }
  }
  defaults["prompt_lookup"] = settings.model.looks_up();
  if (options.has("--draft")) settings.request["prompt_lookup"] = settings.model.looks_up();
  settings.request["hash_logits"] = settings.stats;
}

}  // namespace

GenerateSettings read_generate_settings(const Arguments& arguments) {
  GenerateSettings settings;
  bool has_hf_defaults = false;
  Options options("gpt2 generate", "Continues a text with a GPT-2 model", kGenerateExamples);
  add_prompt_options(options, settings);
  options.begin_group("Model");
  add_model_options(options, settings.model);
  add_draft_option(options, settings.model.draft,
                   "makes an int4 copy for long texts of large models, unless there are "
                   "--samples, and uses the text so far");
  add_output_options(options, settings);
  add_session_options(options, settings);
  add_writing_options(options, settings.request, /*of_one_text=*/true);
  options.begin_group("Beam search");
  add_beam_options(options, settings.request);
  options.begin_group("Other options");
  add_hf_defaults(options, has_hf_defaults);
  options.set_common({"--file", "--model", "--dtype", "--threads", "--samples", "--json",
                      "--interactive", "--temperature", "--top-k", "--top-p", "--seed", "--greedy",
                      "--max-new-tokens", "--stop", "--repetition-penalty", "--help-all",
                      "--help"});
  options.parse(arguments);
  settings.model.find();
  set_defaults(settings, options, has_hf_defaults);
  return settings;
}

}  // namespace gpt2::cli
