#include "cli/tokens.h"

#include "base/text.h"
#include "cli/terminal/console.h"

namespace gpt2::cli {

std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                            const EncodeOptions& options) {
  std::size_t lost = 0;
  std::vector<TokenId> tokens = tokenizer.encode(text, options, &lost);
  note_lost_bytes(lost, text.size());
  return tokens;
}

void note_lost_bytes(std::size_t lost, std::size_t bytes) {
  if (lost == 0) return;
  print_error(concat("the model's vocabulary has no tokens for ", lost, " of the text's ", bytes,
                     " bytes; the model does not see these bytes"));
}

std::string join(std::span<const TokenId> tokens) {
  std::string line;
  for (const TokenId token : tokens) line += (line.empty() ? "" : " ") + std::to_string(token);
  return line;
}

}  // namespace gpt2::cli
