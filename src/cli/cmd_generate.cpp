#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generate_settings.h"
#include "gpt2/error.h"
#include "gpt2/find_model.h"
#include "gpt2/generate.h"

namespace gpt2::cli {
namespace {

std::string read_prompt(const std::optional<std::string>& argument) {
  if (argument && *argument != "-") return *argument;
  if (!argument && is_terminal(stdin)) return "";
  std::string text = read_stdin();
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// Loads the tokenizer. If the model has none, the error message also suggests --tokens.
std::optional<Tokenizer> load_tokenizer(const std::filesystem::path& model) {
  try {
    return Tokenizer::load(model);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    throw Error(error.code(), std::string(error.what()) +
                                  "; or give --tokens and a prompt of token ids, which need no "
                                  "tokenizer");
  }
}

// Returns the token that stands for an empty prompt. In training, the end-of-text token separated
// the documents, so this token alone asks the model for a new document.
TokenId first_token(const std::optional<Tokenizer>& tokenizer, const Config& config) {
  const std::optional<TokenId> end = tokenizer ? tokenizer->end_of_text() : config.bos_token_id;
  if (end) return *end;
  if (!config.eos_token_id.empty()) return config.eos_token_id.front();
  refuse("the prompt is empty, and the model has no end-of-text token to begin with: give a prompt");
}

// Returns "3 tokens" and, if any pass was timed, the time and the speed.
std::string speed(std::size_t tokens, std::size_t passes, double seconds) {
  const std::string count = format("%zu %s", tokens, tokens == 1 ? "token" : "tokens");
  if (passes == 0 || seconds <= 0.0) return count;
  return count + format(", %.3f s, %.1f tokens/s", seconds, static_cast<double>(passes) / seconds);
}

// The first generated token needs no pass of its own, because the pass over the prompt already
// returns its logits.
void print_stats(const GenerationResult& result, const Session& session) {
  const std::size_t computed = session.position() - session.waiting();
  const std::size_t read = std::min(computed, result.prompt_tokens);
  const std::size_t decoded = computed - read;
  std::string text = "prompt      " + speed(read, read, result.prompt_seconds) + "\ngeneration  " +
                     speed(result.tokens.size(), decoded, result.generation_seconds);
  if (result.drafted_tokens != 0) {
    text += format("\ndrafts      %zu tokens, %zu accepted (%.0f %%)", result.drafted_tokens,
                   result.accepted_tokens,
                   100.0 * static_cast<double>(result.accepted_tokens) /
                       static_cast<double>(result.drafted_tokens));
  } else if (decoded != 0) {
    const std::size_t bytes = decoded * session.model().bytes_per_token();
    text += format(", %.2f GB/s", 1e-9 * static_cast<double>(bytes) / result.generation_seconds);
  }
  text += "\nfinish      " + std::string(name_of(result.finish_reason)) + "\n";
  if (result.logits_hash != 0) {  // it is 0 if there were no logits to hash
    text += format("logits      %016llx\n", static_cast<unsigned long long>(result.logits_hash));
  }
  std::fputs(text.c_str(), stderr);
}

struct Prompt {
  std::vector<TokenId> tokens;
  std::string text;  // the text to write before the continuation
};

Prompt make_prompt(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
                   const Config& config) {
  std::string text = read_prompt(settings.prompt);
  auto tokens = tokenizer ? encode(*tokenizer, text) : parse_tokens(text, config.vocab_size);
  if (!tokenizer) text = join(tokens);
  if (settings.no_echo) text.clear();
  if (tokens.empty()) tokens = {first_token(tokenizer, config)};
  if (tokens.size() > config.n_positions) {
    refuse(format("the prompt has %zu tokens, but the model takes at most %zu: shorten it",
                  tokens.size(), config.n_positions));
  }
  return {std::move(tokens), std::move(text)};
}

// Converts the texts of --bad-words to token ids. A text is forbidden as it is and after a space,
// because the tokens of a word inside a text begin with the space before it.
void add_bad_words(SamplingOptions& options, std::span<const std::string> words,
                   const Tokenizer& tokenizer) {
  for (const std::string& word : words) {
    std::vector<std::string> forms = {word};
    if (!word.starts_with(' ')) forms.push_back(' ' + word);
    for (const std::string& form : forms) {
      std::vector<TokenId> ids = tokenizer.encode(form, {.add_special_tokens = false});
      if (ids.empty() || tokenizer.unencodable_bytes(form) != 0) {
        refuse("--bad-words: the model's vocabulary has no tokens for '" + form +
               "': leave it out, because the model cannot write it");
      }
      options.bad_words_ids.push_back(std::move(ids));
    }
  }
}

// Returns the options of the command line. A max_length, which includes the prompt, becomes a
// number of new tokens.
GenerationOptions make_options(const GenerateSettings& settings, std::size_t prompt_tokens,
                               const std::optional<Tokenizer>& tokenizer) {
  GenerationOptions options = settings.generation;
  if (settings.max_length) {
    if (prompt_tokens >= *settings.max_length) {
      refuse(
          format("the prompt has %zu tokens, but max_length in the model's generation config is %zu "
                 "and includes the prompt: shorten the prompt or give --max-new-tokens",
                 prompt_tokens, *settings.max_length));
    }
    options.max_new_tokens = *settings.max_length - prompt_tokens;
  }
  if (tokenizer) add_bad_words(options.sampling, settings.bad_words, *tokenizer);
  options.hash_logits = settings.stats;
  return options;
}

// Generates the continuation of the prompt and writes it after `text`. If `end_line`, makes sure
// that the output ends with a newline.
GenerationResult write_text(Session& session, const std::optional<Tokenizer>& tokenizer,
                            std::string text, std::span<const TokenId> prompt,
                            GenerationOptions options, bool end_line) {
  Progress reading("reading the prompt");
  note_interrupts();
  options.on_prompt = [&](std::size_t read, std::size_t total) {
    reading.part(static_cast<double>(read) / static_cast<double>(total));
    return !interrupted();
  };
  const char* separator = text.empty() ? "" : " ";  // before the next id, with --tokens
  char last = '\0';
  // The prompt is written together with the first piece of the continuation, so that nothing is
  // written if the model refuses the prompt.
  const auto write = [&](std::string_view continuation) {
    reading.done();
    text += continuation;
    if (!text.empty()) last = text.back();
    write_stdout(std::exchange(text, ""));
    return !interrupted();
  };
  const auto write_id = [&](TokenId token) {
    return write(std::exchange(separator, " ") + std::to_string(token));
  };
  const GenerationResult result = tokenizer
                                      ? gpt2::generate(session, *tokenizer, prompt, options, write)
                                      : gpt2::generate(session, prompt, options, write_id);
  if (result.finish_reason == FinishReason::cancelled && result.tokens.empty()) return result;
  write("");
  if (end_line && last != '\n') write_stdout("\n");
  return result;
}

// The model that writes, and the one that drafts if any.
struct Models {
  Model model;
  std::optional<Model> draft;
};

Models load_models(const GenerateSettings& settings) {
  const auto load = [&] { return Model::load(settings.model, {.dtype = settings.dtype}); };
  if (settings.draft == "off" || settings.draft == "prompt") return {load(), std::nullopt};
  const auto type = weight_type_named(settings.draft);
  if (type && *type != WeightType::int8 && *type != WeightType::int4) {
    throw UsageError("--draft", "expected off, int8, int4, prompt or a quantized model, found '" +
                                    settings.draft + "'");
  }
  if (!type) return {load(), Model::load(find_model(settings.draft))};
  const Model stored = Model::load(settings.model);
  return {stored.to(settings.dtype), stored.to(*type)};
}

int run(const GenerateSettings& settings) {
  Progress loading("loading " + settings.model.string());
  const auto [model, draft] = load_models(settings);
  const auto tokenizer = settings.tokens ? std::nullopt : load_tokenizer(settings.model);
  loading.done();

  const Config& config = model.config();
  auto [prompt, text] = make_prompt(settings, tokenizer, config);
  auto options = make_options(settings, prompt.size(), tokenizer);
  options.draft = draft;
  options.prompt_lookup = settings.draft != "off";
  const std::size_t room = prompt.size() + std::min(options.max_new_tokens, config.n_positions);
  Session session(Engine(model, {.threads = settings.threads}),
                  {.max_tokens = std::min(room, config.n_positions)});
  if (settings.draws_seed) {
    print_error("to write this text again, give --seed " + std::to_string(options.sampling.seed));
  }
  const auto result =
      write_text(session, tokenizer, std::move(text), prompt, options, !settings.no_newline);
  if (result.finish_reason == FinishReason::context_full) {
    print_error(
        format("the text ends here: the context of %zu tokens is full", config.n_positions));
  }
  if (settings.stats) print_stats(result, session);
  return 0;
}

}  // namespace

int generate(Arguments arguments, void (*check)(const std::string& prompt)) {
  return run(read_generate_settings(std::move(arguments), check));
}

}  // namespace gpt2::cli
