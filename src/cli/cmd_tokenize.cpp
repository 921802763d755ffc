#include <charconv>
#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/find_model.h"
#include "gpt2/error.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {
namespace {

constexpr const char* kExamples =
    R"(Without TEXT, or with -, it is read from standard input. Decoding gives back the very bytes that were
encoded.

Examples:
  gpt2 tokenize "Hello world"
  gpt2 tokenize --decode "15496 995"
  gpt2 tokenize < book.txt | gpt2 tokenize --decode | cmp - book.txt)";

std::vector<TokenId> parse_ids(std::string_view text, const Tokenizer& tokenizer) {
  constexpr std::string_view kSeparators = " \t\r\n,";
  std::vector<TokenId> ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSeparators), text.size()));
    if (text.empty()) return ids;
    const std::string_view word = text.substr(0, text.find_first_of(kSeparators));
    TokenId id = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc{} || end != word.data() + word.size() || id < 0 ||
        static_cast<std::size_t>(id) >= tokenizer.size()) {
      throw Error(ErrorCode::invalid_argument,
                  "token id " + std::to_string(ids.size() + 1) + ": expected a number from 0 to " +
                      std::to_string(tokenizer.size() - 1) + ", found '" +
                      std::string(word.substr(0, 40)) + "'");
    }
    ids.push_back(id);
    text.remove_prefix(word.size());
  }
}

std::string join(const std::vector<TokenId>& ids) {
  std::string line;
  for (const TokenId id : ids) {
    if (!line.empty()) line += ' ';
    line += std::to_string(id);
  }
  return line + '\n';
}

}  // namespace

int tokenize(Arguments arguments) {
  std::string model = GPT2_BUNDLED_MODEL;
  std::optional<std::string> argument;
  bool decode = false;
  CLI::App app("Turns a text into token ids, or back\n", "gpt2 tokenize");
  app.footer(kExamples);
  app.add_option("TEXT", argument, "The text, or with --decode the ids")->option_text(" ");
  add_model_option(app, model);
  add_switch(app, "--decode", decode, "Turn ids into text");
  if (!parse(app, std::move(arguments))) return 0;

  const Tokenizer tokenizer = Tokenizer::load(find_model(model).directory);
  const std::string text = argument && *argument != "-" ? *argument : read_stdin();
  write_stdout(decode ? tokenizer.decode(parse_ids(text, tokenizer))
                      : join(tokenizer.encode(text)));
  if (decode && stdout_is_terminal()) write_stdout("\n");
  return 0;
}

}  // namespace gpt2::cli
