#include "cli/prompt.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/console.h"
#include "gpt2/error.h"

namespace gpt2::cli {
namespace {

std::string read_text(const GenerateSettings& settings) {
  if (settings.prompt) return *settings.prompt;
  const std::string& file = settings.prompt_file;
  if (file.empty() && is_terminal(stdin)) return "";
  std::string text = read_file(file.empty() ? "-" : file);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// Refuses a prompt for which the context has no room after the tokens of --state, even after a
// slide.
void require_room(std::size_t before, std::size_t tokens, const GenerationOptions& options,
                  std::size_t n_positions) {
  const bool slides = options.overflow == Overflow::slide;
  const std::size_t kept = slides ? std::min(before, options.keep) : before;
  if (kept + tokens <= n_positions) return;
  refuse(
      format("the state %s %s and the prompt has %zu, but the model takes at most %zu: "
             "shorten the prompt%s",
             slides ? "keeps" : "has", counted(kept, "token").c_str(), tokens, n_positions,
             slides ? "" : ", or give --overflow slide"));
}

}  // namespace

Tokenizer load_tokenizer(const std::filesystem::path& model) {
  try {
    return Tokenizer::load(model);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    throw Error(error.code(), std::string(error.what()) +
                                  "; or give --tokens and a prompt of token ids, which need no "
                                  "tokenizer");
  }
}

// In training, the end-of-text token separated the documents, so this token alone asks the model
// for a new document.
TokenId first_token(const std::optional<Tokenizer>& tokenizer, const Config& config) {
  const std::optional<TokenId> end = tokenizer ? tokenizer->end_of_text() : config.bos_token_id;
  if (end) return *end;
  if (!config.eos_token_id.empty()) return config.eos_token_id.front();
  refuse(
      "the prompt is empty, and the model has no end-of-text token to begin with: give a prompt");
}

std::size_t fit_context(std::vector<TokenId>& tokens, bool truncate, std::size_t max_new_tokens,
                        std::size_t n_positions) {
  if (tokens.size() <= n_positions) return 0;
  if (!truncate) {
    refuse(
        format("the prompt has %zu tokens, but the model takes at most %zu: shorten it, or give "
               "--truncate to leave out its beginning",
               tokens.size(), n_positions));
  }
  const std::size_t room = max_new_tokens < n_positions ? max_new_tokens : 1;
  const std::size_t kept = std::max<std::size_t>(n_positions - room, 1);
  const std::size_t removed = tokens.size() - kept;
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(removed));
  return removed;
}

Prompt read_prompt(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
                   const Config& config, std::size_t before) {
  std::string text = read_text(settings);
  auto tokens = tokenizer ? encode(*tokenizer, text, {.add_special_tokens = before == 0})
                          : parse_tokens(text, config.vocab_size);
  if (!tokenizer) text = join(tokens);
  if (before != 0) {
    require_room(before, tokens.size(), settings.generation, config.n_positions);
    return {std::move(tokens), std::move(text)};
  }
  if (tokens.empty()) tokens = {first_token(tokenizer, config)};
  const std::size_t size = tokens.size();
  const std::size_t removed = fit_context(tokens, settings.truncate,
                                          settings.generation.max_new_tokens, config.n_positions);
  if (removed != 0) {
    print_error(
        format("the prompt has %zu tokens, but the model takes at most %zu: the first %zu are left "
               "out",
               size, config.n_positions, removed));
  }
  return {std::move(tokens), std::move(text)};
}

std::optional<std::string> first_line(const GenerateSettings& settings) {
  if (!settings.prompt && settings.prompt_file.empty()) return std::nullopt;
  return read_text(settings);
}

void add_bad_words(SamplingOptions& options, std::span<const std::string> words,
                   const Tokenizer& tokenizer) {
  for (const std::string& word : words) {
    std::vector<std::string> forms = {word};
    if (!word.starts_with(' ')) forms.push_back(' ' + word);
    for (const std::string& form : forms) {
      std::vector<TokenId> ids = tokenizer.encode(form, {.add_special_tokens = false});
      if (ids.empty() || tokenizer.unencodable_bytes(form) != 0) {
        throw UsageError("--bad-words", "the model's vocabulary has no tokens for '" + form +
                                            "': leave it out, because the model cannot write it");
      }
      options.bad_words_ids.push_back(std::move(ids));
    }
  }
}

}  // namespace gpt2::cli
