#include "cli/generate_settings.h"

#include <cstdint>
#include <random>

#include "gpt2/find_model.h"
#include "gpt2/generation_config.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kMaxSize = 1'000'000'000;

constexpr const char* kExamples =
    R"(If PROMPT is missing or -, the prompt is read from standard input, without one newline at its end.
A terminal, however, is read only if PROMPT is -, so that gpt2 alone starts at once, with an empty
prompt. An empty prompt lets the model begin a text of its own. A prompt that begins with a dash
comes last, after --.

The prompt and its continuation go to standard output, followed by a newline if they do not end in
one, so that several texts stay apart; --no-newline leaves that newline out. Tokens that stand for
no text are left out, as in HuggingFace.

The same arguments write the same text on every machine; another --seed writes another text.

Examples:
  gpt2 "Once upon a time"
  gpt2 --seed 2 --temperature 1 --max-new-tokens 50 "The cat"
  gpt2 --stop . --stop $'\n' --no-echo "The moon is"
  gpt2 --greedy -- "- milk"
  gpt2 -m gpt2-medium --greedy --stats < question.txt
  gpt2 -m a-model-without-tokenizer --tokens "15496 11 995")";

// Sets what the command line leaves open to what HuggingFace's generate() would use for the model.
void take_hf_defaults(GenerateSettings& settings, const CLI::App& app) {
  const auto config = GenerationConfig::load(settings.model);
  SamplingOptions& sampling = settings.generation.sampling;
  if (app.count("--temperature") + app.count("--greedy") == 0) {
    sampling.temperature = config.sampling.temperature;
  }
  if (app.count("--top-k") == 0) sampling.top_k = config.sampling.top_k;
  if (app.count("--top-p") == 0) sampling.top_p = config.sampling.top_p;
  if (app.count("--max-new-tokens") != 0) return;
  if (!config.max_new_tokens) settings.max_length = config.max_length;
  settings.generation.max_new_tokens = config.max_new_tokens.value_or(config.max_length);
}

// Adds --seed.
void add_seed(CLI::App& app, GenerateSettings& settings) {
  const auto assign = [&settings](const std::string& text) {
    std::uint64_t& seed = settings.generation.sampling.seed;
    settings.draws_seed = text == "random";
    if (settings.draws_seed) {
      seed = std::random_device{}();
    } else if (!read_number(text, seed)) {
      throw UsageError("--seed", "expected 'random' or a whole number from 0 to " +
                                     std::to_string(UINT64_MAX) + ", found '" + text + "'");
    }
  };
  app.add_option_function<std::string>("--seed", assign,
                                       "Each number gives another text; 'random' draws a number\n"
                                       "and prints it (default 0)")
      ->option_text("N");
}

// Adds the options that say how the next token is chosen.
void add_sampling_options(CLI::App& app, GenerateSettings& settings, bool& greedy) {
  SamplingOptions& sampling = settings.generation.sampling;
  add_number(app, "--temperature", sampling.temperature, SamplingOptions::kMinTemperature, 100,
             "Lower is more predictable, higher is more varied, 0 is\nthe same as --greedy", true);
  add_number(app, "--top-k", sampling.top_k, 0, kMaxSize,
             "Draw from the N most likely tokens; 0: from all");
  add_number(app, "--top-p", sampling.top_p, 0, 1,
             "Draw from the most likely tokens that together have at\nleast this probability");
  add_seed(app, settings);
  CLI::Option* const likeliest =
      add_switch(app, "--greedy", greedy, "Always take the most likely token");
  for (const char* const option : {"--temperature", "--top-k", "--top-p", "--seed"}) {
    likeliest->excludes(option);
  }
}

}  // namespace

GenerateSettings read_generate_settings(Arguments arguments,
                                        void (*check)(const std::string& prompt)) {
  GenerateSettings settings;
  std::string model = GPT2_BUNDLED_MODEL;
  CLI::App app("Continues a text with a GPT-2 model\n", "gpt2 generate");
  app.footer(kExamples);
  app.add_option("PROMPT", settings.prompt, "The text to continue")->option_text(" ");
  add_model_option(app, model);
  add_dtype_option(app, settings.dtype);
  bool greedy = false;
  add_sampling_options(app, settings, greedy);
  add_number(app, "--max-new-tokens", settings.generation.max_new_tokens, 0, kMaxSize,
             "Max length of the continuation, in tokens");
  add_number(app, "--threads", settings.threads, 0, 1024,
             "Number of threads, which never changes the text; 0: one\n"
             "per core, but fewer for small models");
  bool hf_defaults = false;
  add_switch(app, "--tokens", settings.tokens, "Read and write token ids; needs no tokenizer");
  app.add_option("--stop", settings.generation.stop,
                 "End the text before TEXT; may be repeated")
      ->option_text("TEXT")
      ->allow_extra_args(false)
      ->excludes("--tokens")
      ->check([](const auto& text) { return text.empty() ? "expected a text, found ''" : ""; });
  add_switch(app, "--no-echo", settings.no_echo, "Write the continuation without the prompt");
  add_switch(app, "--no-newline", settings.no_newline,
             "Do not add a newline at the end of the text");
  add_switch(app, "--stats", settings.stats,
             "Print speed and a hash of all logits to standard error");
  add_switch(app, "--hf-defaults", hf_defaults,
             "For options not given, use generation_config.json, as\n"
             "HuggingFace's generate() does");
  parse(app, arguments);
  if (check != nullptr && settings.prompt) {
    // A -- before the prompt says that the word is a prompt, so that it needs no check. A -- at the
    // end of the arguments says nothing about it.
    const std::size_t at_end = arguments.back() == "--" ? 1 : 0;
    if (app.remaining().size() <= at_end) check(*settings.prompt);
  }
  settings.model = find_model(model);
  if (hf_defaults) take_hf_defaults(settings, app);
  if (greedy) settings.generation.sampling.temperature = 0.0f;
  return settings;
}

}  // namespace gpt2::cli
