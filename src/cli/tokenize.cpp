#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/paths.h"
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "cli/terminal/console.h"
#include "gpt2/config.h"
#include "requests/read/tokens.h"

namespace gpt2::cli {
namespace {

constexpr const char* kTokenizeExamples =
    R"(If TEXT is missing or -, it is read from standard input. With a byte-level BPE such as
GPT-2's, decoding returns exactly the bytes that were encoded; other tokenizers normalize a text.

Examples:
  gpt2 tokenize "Hello world"
  gpt2 tokenize --pieces "Hello world" | jq .text
  gpt2 tokenize --decode 443 452 258 401
  gpt2 tokenize --decode "[443, 452, 258, 401]"
  gpt2 tokenize -f book.txt | gpt2 tokenize --decode | cmp - book.txt
  gpt2 tokenize "Once upon" | gpt2 --tokens | gpt2 tokenize --decode)";

}  // namespace

int tokenize(const Arguments& arguments) {
  ModelSettings model;
  Arguments words;
  std::string file = "-";
  bool decode = false, pieces = false;
  Options options("gpt2 tokenize", "Turns a text into token ids, or back", kTokenizeExamples);
  options
      .add("TEXT", "", "The text; with --decode, the token ids",
           [&words](const std::string& word) { words.push_back(word); })
      .is_repeatable = true;
  options.add_file("-f,--file", file, "Read the text from FILE; -: from standard input")
      .excluded = {"TEXT"};
  add_model_option(options, model.name);
  add_tokenizer_option(options, model.tokenizer);
  options.add_switch("--decode", decode, "Turn token ids into text");
  options.add_switch("--pieces", pieces, "Print a JSON object for each token: its id and its text")
      .excluded = {"--decode"};
  options.parse(arguments);
  if (!decode && words.size() > 1) {
    throw UsageError("unexpected argument '" + words[1] +
                     "': put a text of several words in quotes");
  }

  model.places.tokenizer = find_model(model.tokenizer.empty() ? model.name : model.tokenizer);
  const Tokenizer tokenizer = load_tokenizer(model, /*takes_tokens=*/false);
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  if (words.empty() || text == "-") text = read_input(file);
  if (pieces) {
    std::string lines;
    for (const TokenId id : encode(tokenizer, text)) {
      lines += line_of({{"id", id}, {"text", tokenizer.bytes(id)}});
    }
    write_stdout(lines);
    return 0;
  }
  // A model may have more rows than its tokenizer has tokens. Their ids decode to nothing.
  std::size_t count = tokenizer.size();
  if (decode) {
    const std::filesystem::path place = find_places(find_model(model.name)).config;
    const std::filesystem::path config = directory_of(place) / "config.json";
    if (is_there(config)) count = std::max(count, Config::load(config).vocab_size);
  }
  std::string answer =
      decode ? tokenizer.decode(parse_tokens(text, count)) : join(encode(tokenizer, text));
  // A decoded text keeps its exact bytes, except that a terminal gets a newline at the end.
  if (!decode || (is_terminal(kStdout) && !answer.ends_with('\n'))) answer += '\n';
  write_stdout(answer);
  return 0;
}

}  // namespace gpt2::cli
