#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/find_model.h"
#include "generate/generation_config.h"
#include "gpt2/generate.h"

namespace gpt2::cli {
namespace {

struct Settings {
  ModelPath model;
  WeightType dtype = WeightType::stored;
  std::optional<std::string> prompt;
  int threads = 0;
  bool tokens = false;
  bool no_echo = false;
  bool stats = false;
  std::optional<std::size_t> max_length;  // in place of max_new_tokens: counts the prompt too
  GenerationOptions generation = {.sampling = {.temperature = 0.8f, .top_k = 40}};
};

constexpr const char* kExamples =
    R"(Without PROMPT, or with -, the prompt is read from standard input, less one final line end; an empty
one asks for a text from nothing. A terminal is not read without the -: gpt2 alone writes a text from
nothing. A prompt that begins with a dash comes last, after --. The prompt and what continues it go
to standard output; a token without a text is left out, as HuggingFace leaves it out.

The same arguments write the same text, on every machine: another --seed writes another one.

Examples:
  gpt2 "Once upon a time"
  gpt2 --seed 2 --temperature 1 --max-new-tokens 50 "The cat"
  gpt2 --stop . --stop $'\n' --no-echo "The moon is"
  gpt2 --greedy -- "- milk"
  gpt2 -m gpt2-medium --greedy --stats < question.txt
  gpt2 -m a-model-without-tokenizer --tokens "15496 11 995")";

// What the command line leaves open, as HuggingFace's generate() would have it for the model.
void take_hf_defaults(Settings& settings, const CLI::App& app) {
  const auto config = GenerationConfig::load(settings.model.directory);
  SamplingOptions& sampling = settings.generation.sampling;
  if (app.count("--temperature") + app.count("--greedy") == 0) {
    sampling.temperature = config.do_sample ? config.temperature : 0.0f;
  }
  if (app.count("--top-k") == 0) sampling.top_k = config.top_k;
  if (app.count("--top-p") == 0) sampling.top_p = config.top_p;
  if (app.count("--max-new-tokens") != 0) return;
  if (!config.max_new_tokens) settings.max_length = config.max_length;
  settings.generation.max_new_tokens = config.max_new_tokens.value_or(config.max_length);
}

Settings read_settings(Arguments arguments, void (*check)(const std::string& prompt)) {
  constexpr std::size_t kMaxSize = 1'000'000'000;
  Settings settings;
  std::string model = GPT2_BUNDLED_MODEL;
  SamplingOptions& sampling = settings.generation.sampling;
  CLI::App app("Continues a text\n", "gpt2 generate");
  app.footer(kExamples);
  app.add_option("PROMPT", settings.prompt, "The text to continue")->option_text(" ");
  add_model_option(app, model);
  add_dtype_option(app, settings.dtype);
  add_number(app, "--temperature", sampling.temperature, SamplingOptions::kLeastTemperature, 100,
             "Lower is safer, higher is wilder, 0 is --greedy", true);
  add_number(app, "--top-k", sampling.top_k, 0, kMaxSize,
             "Draw from the N likeliest tokens, 0: from all");
  add_number(app, "--top-p", sampling.top_p, 0, 1,
             "Draw from the likeliest tokens that together have\nthis probability");
  add_number(app, "--seed", sampling.seed, 0, UINT64_MAX, "Another number, another text");
  add_number(app, "--max-new-tokens", settings.generation.max_new_tokens, 0, kMaxSize,
             "The longest continuation");
  add_number(app, "--threads", settings.threads, 0, 1024,
             "Changes the speed, never the text; 0: one a core, fewer\nfor small models");
  bool greedy = false;
  bool hf_defaults = false;
  add_switch(app, "--greedy", greedy, "Always the likeliest token")->excludes("--temperature");
  add_switch(app, "--tokens", settings.tokens, "Read and write token ids: no tokenizer needed");
  app.add_option("--stop", settings.generation.stop, "End before this text; may be repeated")
      ->option_text("TEXT")
      ->allow_extra_args(false)
      ->excludes("--tokens")
      ->check([](const auto& text) { return text.empty() ? "expected a text, found ''" : ""; });
  add_switch(app, "--no-echo", settings.no_echo, "Write the continuation without the prompt");
  add_switch(app, "--stats", settings.stats,
             "Tell speed and a hash of all logits, on standard error");
  add_switch(app, "--hf-defaults", hf_defaults,
             "Where an option is not given, take what HuggingFace's\ngenerate() would: from "
             "generation_config.json");
  parse(app, arguments);
  if (check != nullptr && settings.prompt) {
    // A -- before the prompt says that it is one; at the end it says nothing.
    const std::size_t at_end = arguments.back() == "--" ? 1 : 0;
    if (app.remaining().size() <= at_end) check(*settings.prompt);
  }
  settings.model = find_model(model);
  if (hf_defaults) take_hf_defaults(settings, app);
  if (greedy) sampling.temperature = 0.0f;
  return settings;
}

std::string read_prompt(const std::optional<std::string>& argument) {
  if (argument && *argument != "-") return *argument;
  if (!argument && is_terminal(stdin)) return "";
  std::string text = read_stdin();
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::optional<Tokenizer> load_tokenizer(const std::filesystem::path& directory) {
  try {
    return Tokenizer::load(directory);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    throw Error(error.code(), std::string(error.what()) +
                                  "; or give --tokens and a prompt of token ids, which needs none");
  }
}

// In training, the end-of-text token stood between documents: alone, it asks for a new one.
TokenId first_token(const std::optional<Tokenizer>& tokenizer, const Config& config) {
  const std::optional<TokenId> end = tokenizer ? tokenizer->end_of_text() : config.bos_token_id;
  if (end) return *end;
  if (!config.eos_token_id.empty()) return config.eos_token_id.front();
  reject("the prompt is empty, and the model has no end-of-text token to begin with");
}

void print_stats(const GenerationResult& result, const Session& session) {
  const auto rate = [](std::size_t amount, double seconds) {
    return seconds > 0.0 ? static_cast<double>(amount) / seconds : 0.0;
  };
  const std::size_t decoded = session.position() - result.prompt_tokens;
  const std::size_t bytes = decoded * session.model().bytes_per_token();
  std::fprintf(stderr,
               "prompt      %zu tokens, %.3f s, %.1f tokens/s\n"
               "generation  %zu tokens, %.3f s, %.1f tokens/s, %.2f GB/s\n"
               "finish      %s\n"
               "logits      %016llx\n",
               result.prompt_tokens, result.prompt_seconds,
               rate(result.prompt_tokens, result.prompt_seconds), result.tokens.size(),
               result.generation_seconds, rate(decoded, result.generation_seconds),
               rate(bytes, result.generation_seconds) * 1e-9,
               std::string(name_of(result.finish_reason)).c_str(),
               static_cast<unsigned long long>(result.logits_hash));
}

int run(Settings settings) {
  const auto& [directory, weights] = settings.model;
  Progress loading("loading " + weights.string());
  const Model model = Model::load(weights, {.dtype = settings.dtype});
  const auto tokenizer = settings.tokens ? std::nullopt : load_tokenizer(directory);
  loading.done();

  const Config& config = model.config();
  std::string text = read_prompt(settings.prompt);
  auto prompt = tokenizer ? tokenizer->encode(text) : parse_tokens(text, config.vocab_size);
  if (!tokenizer) text = join(prompt);
  if (settings.no_echo) text.clear();
  if (prompt.empty()) prompt = {first_token(tokenizer, config)};
  if (prompt.size() > config.n_positions) {
    reject("the prompt has ", prompt.size(), " tokens, the model takes ", config.n_positions,
           " at most: shorten it");
  }
  GenerationOptions& options = settings.generation;
  if (settings.max_length) {
    if (prompt.size() >= *settings.max_length) {
      reject("the prompt has ", prompt.size(), " tokens, and max_length of the model's generation ",
             "config, which counts them, is ", *settings.max_length, ": give --max-new-tokens");
    }
    options.max_new_tokens = *settings.max_length - prompt.size();
  }
  options.hash_logits = settings.stats;
  options.stop_tokens = config.eos_token_id;
  const auto end_of_text = tokenizer ? tokenizer->end_of_text() : std::nullopt;
  if (end_of_text) options.stop_tokens.push_back(*end_of_text);

  const std::size_t room = prompt.size() + std::min(options.max_new_tokens, config.n_positions);
  Session session(Engine(model, {.threads = settings.threads}),
                  {.max_tokens = std::min(room, config.n_positions)});
  Progress reading("reading the prompt");
  note_interrupts();
  const char* separator = text.empty() ? "" : " ";  // between ids
  char last = '\n';
  // The prompt is written with the first of the text: one that the model refuses leaves nothing.
  const auto write = [&](std::string_view continuation) {
    reading.done();
    text += continuation;
    if (!text.empty()) last = text.back();
    write_stdout(std::exchange(text, ""));
    return interrupt_status() == 0;
  };
  const auto write_id = [&](TokenId token) {
    return write(std::exchange(separator, " ") + std::to_string(token));
  };
  const GenerationResult result = tokenizer
                                      ? gpt2::generate(session, *tokenizer, prompt, options, write)
                                      : gpt2::generate(session, prompt, options, write_id);
  write(settings.tokens ? "\n" : "");
  if (is_terminal(stdout) && last != '\n') write_stdout("\n");
  if (result.finish_reason == FinishReason::length) {
    print_error(
        concat("the text ends here: the context of ", config.n_positions, " tokens is full"));
  }
  if (settings.stats) print_stats(result, session);
  return interrupt_status();
}

}  // namespace

int generate(Arguments arguments, void (*check)(const std::string& prompt)) {
  return run(read_settings(std::move(arguments), check));
}

}  // namespace gpt2::cli
