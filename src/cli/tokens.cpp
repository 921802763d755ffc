#include "cli/tokens.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/fail.h"
#include "cli/terminal/console.h"

namespace gpt2::cli {

std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                            const EncodeOptions& options) {
  note_lost_bytes(tokenizer.unencodable_bytes(text, options), text.size());
  return tokenizer.encode(text, options);
}

void note_lost_bytes(std::size_t lost, std::size_t bytes) {
  if (lost == 0) return;
  print_error(concat("the model's vocabulary has no tokens for ", lost, " of the text's ", bytes,
                     " bytes; the model does not see these bytes"));
}

std::vector<TokenId> parse_tokens(std::string text, std::size_t count, std::size_t before) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(std::move(text));
  std::vector<TokenId> tokens;
  for (std::string word; words >> word;) {
    std::size_t id = 0;
    if (!read_number(word, id) || id >= count) {
      reject("token id ", before + tokens.size() + 1, ": expected a number from 0 to ", count - 1,
             ", found '", word.substr(0, 40), "'");
    }
    tokens.push_back(static_cast<TokenId>(id));
  }
  return tokens;
}

std::string join(std::span<const TokenId> tokens) {
  std::string line;
  for (const TokenId token : tokens) line += (line.empty() ? "" : " ") + std::to_string(token);
  return line;
}

// In training, the end-of-text token separated the documents, so this token alone asks the model
// for a new document.
TokenId first_token(const std::optional<Tokenizer>& tokenizer, const Config& config) {
  const std::optional<TokenId> end = tokenizer ? tokenizer->end_of_text() : config.bos_token_id;
  if (end) return *end;
  if (!config.eos_token_id.empty()) return config.eos_token_id.front();
  reject(
      "the prompt is empty, and the model has no end-of-text token to begin with: give a prompt");
}

std::size_t fit_context(std::vector<TokenId>& tokens, bool truncate, std::size_t max_new_tokens,
                        std::size_t n_positions) {
  if (tokens.size() <= n_positions) return 0;
  if (!truncate) {
    reject("the prompt has ", tokens.size(), " tokens, but the model takes at most ", n_positions,
           ": shorten it, or give --truncate to leave out its beginning");
  }
  const std::size_t room = max_new_tokens < n_positions ? max_new_tokens : 1;
  const std::size_t kept = std::max<std::size_t>(n_positions - room, 1);
  const std::size_t removed = tokens.size() - kept;
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(removed));
  return removed;
}

}  // namespace gpt2::cli
