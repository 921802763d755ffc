#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/load_model.h"
#include "cli/quantization_cost.h"
#include "gpt2/error.h"
#include "gpt2/model.h"
#include "gpt2/model_files.h"

namespace gpt2::cli {
namespace {

constexpr const char* kSummary =
    R"(Writes the quantized model to the directory OUT, which loads without conversion, and prints
what quantizing costs: the bytes read for each token and the perplexity, before and after, and the
largest change of a logit. If the command is interrupted, it leaves no OUT behind; if it is killed,
it leaves a directory OUT.partial-ID, which can be deleted.

)";

constexpr const char* kExamples = R"(Examples:
  gpt2 quantize openai-community/gpt2 models/gpt2-int8
  gpt2 quantize models/gpt2 models/gpt2-int4 --dtype int4 --text novel.txt)";

}  // namespace

int quantize(Arguments arguments) {
  std::string name;
  std::string out;
  std::string text_file;
  std::string type = "int8";
  CLI::App app("Quantizes a model's weights to 8 or 4 bits", "gpt2 quantize");
  app.footer(std::string(kSummary) + kCostHelp + kExamples);
  app.add_option("MODEL", name, "A directory, a file in it, or a name")->required();
  app.add_option("OUT", out,
                 "The directory to write, which must not exist yet; missing parents "
                 "are made, too")
      ->required();
  app.add_option("--dtype", type, "The type to quantize to (default int8)")
      ->option_text("int8|int4");
  add_text_option(app, text_file);
  parse(app, std::move(arguments));
  if (type != "int8" && type != "int4") {
    throw UsageError("--dtype", "expected int8 or int4, found '" + type + "'");
  }
  if (out.empty()) throw UsageError("OUT", "expected the name of a directory to write, found ''");
  // Throws now, before the long work, if OUT cannot be written.
  require_new_directory(out);

  const std::filesystem::path path = find_model(name);
  Progress progress("quantizing " + path.string());
  std::optional<Tokenizer> tokenizer;
  try {
    tokenizer = Tokenizer::load(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  const auto tokens = tokens_to_measure(text_file, tokenizer);
  const Model before = Model::load(path);
  if (name_of(before.config().quantized) == type) {
    throw UsageError("--dtype", path.string() + ": its weights are " + type +
                                    " already: copy the directory instead");
  }
  const auto show = [&](double share) { progress.part(share); };
  const Model after = load_as(path, {.dtype = parse_dtype(type), .progress = show});
  progress.done();
  const auto cost = quantization_cost(before, after, tokens);
  Progress writing("writing " + out);
  note_interrupts();
  save_quantized(after, path, out, [&](double share) {
    writing.part(share);
    if (interrupted()) refuse("interrupted; " + out + " was not written");
  });
  writing.done();
  write_stdout(out + "\n" + cost_in_words(cost));
  return 0;
}

}  // namespace gpt2::cli
