#include "cli/generate/prompt.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/fail.h"
#include "base/text.h"
#include "cli/terminal/console.h"
#include "cli/tokens.h"
#include "requests/tokens.h"

namespace gpt2::cli {
namespace {

std::string read_text(const GenerateSettings& settings) {
  if (settings.prompt) return *settings.prompt;
  const std::string& file = settings.prompt_file;
  if (file.empty() && is_terminal(stdin)) return "";
  return read_prompt_input(file.empty() ? "-" : file);
}

}  // namespace

Prompt read_prompt(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
                   const Config& config, std::size_t before) {
  std::string text = read_text(settings);
  auto tokens = tokenizer ? encode(*tokenizer, text, {.add_special_tokens = before == 0})
                          : parse_tokens(text, config.vocab_size);
  if (!tokenizer) text = join(tokens);
  // The session refuses a prompt for which it has no room.
  if (before != 0) return {std::move(tokens), std::move(text)};
  if (tokens.empty()) tokens = {first_token(tokenizer, config)};
  const std::size_t size = tokens.size();
  const Writing& writing = settings.writing;
  const std::size_t removed = fit_context(tokens, writing.truncate, writing.options.max_new_tokens,
                                          config.n_positions, "--truncate");
  if (removed != 0) {
    print_error(concat("the prompt has ", size, " tokens, but the model takes at most ",
                       config.n_positions, ": the first ", removed, " are left out"));
  }
  return {std::move(tokens), std::move(text)};
}

std::optional<std::string> first_line(const GenerateSettings& settings) {
  if (!settings.prompt && settings.prompt_file.empty()) return std::nullopt;
  return read_text(settings);
}

}  // namespace gpt2::cli
