#include "cli/commands.h"
#include "cli/console.h"
#include "cli/load_model.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {
namespace {

constexpr const char* kExamples =
    R"(If TEXT is missing or -, it is read from standard input. Decoding returns exactly the bytes
that were encoded, except that on a terminal a newline is added if the text does not end in one.

Examples:
  gpt2 tokenize "Hello world"
  gpt2 tokenize --decode "443 452 258 401"
  gpt2 tokenize -f book.txt | gpt2 tokenize --decode | cmp - book.txt
  gpt2 tokenize "Once upon" | gpt2 --tokens | gpt2 tokenize --decode)";

}  // namespace

int tokenize(Arguments arguments) {
  std::string model = GPT2_BUNDLED_MODEL;
  std::string argument = "-";
  std::string file = "-";
  bool decode = false;
  CLI::App app("Turns a text into token ids, or back", "gpt2 tokenize");
  app.footer(kExamples);
  app.add_option("TEXT", argument, "The text; with --decode, the token ids");
  add_file(app, "-f,--file", file, "Read the text from FILE; -: from standard input")
      ->excludes("TEXT");
  add_model_option(app, model);
  add_switch(app, "--decode", decode, "Turn token ids into text");
  parse(app, std::move(arguments));

  const Tokenizer tokenizer = Tokenizer::load(model_path(model));
  const std::string text = argument == "-" ? read_file(file) : argument;
  std::string answer = decode ? tokenizer.decode(parse_tokens(text, tokenizer.size()))
                              : join(encode(tokenizer, text));
  // A decoded text keeps its exact bytes, except that a terminal gets a newline at the end.
  if (!decode || (is_terminal(stdout) && !answer.ends_with('\n'))) answer += '\n';
  write_stdout(answer);
  return 0;
}

}  // namespace gpt2::cli
