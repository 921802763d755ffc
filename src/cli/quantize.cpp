#include <nlohmann/json.hpp>
#include <optional>

#include "base/fail.h"
#include "base/paths.h"
#include "cli/commands.h"
#include "cli/model.h"
#include "cli/quantization_cost.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "gpt2/model_files.h"

namespace gpt2::cli {
namespace {

constexpr const char* kQuantizeSummary =
    R"(Writes the quantized model to the directory OUT, which loads without conversion, and prints
what quantizing costs: the bytes read for each token and the perplexity, before and after, and the
largest change of a logit. If the command is interrupted, it leaves no OUT behind; if it is killed,
it leaves a directory OUT.partial-ID, which can be deleted.

)";

constexpr const char* kQuantizeExamples = R"(Examples:
  gpt2 quantize openai-community/gpt2 models/gpt2-int8
  gpt2 quantize models/gpt2 models/gpt2-int4 --dtype int4 --text novel.txt)";

}  // namespace

int quantize(const Arguments& arguments) {
  std::string name;
  std::string out;
  std::string text_file;
  std::string type = "int8";
  Options options("gpt2 quantize", "Quantizes a model's weights to 8 or 4 bits",
                  std::string(kQuantizeSummary) + kCostHelp + kQuantizeExamples);
  options.add_text("MODEL", "", name, "A directory, a file in it, or a name").is_required = true;
  options
      .add_text("OUT", "", out,
                "The directory to write, which must not exist yet; missing parents are made, too")
      .is_required = true;
  options.add_choice("--dtype", "int8|int4", "The type to quantize to (default int8)",
                     [&type](const std::string& text) { type = text; });
  add_text_option(options, text_file);
  add_quiet_option(options);
  options.parse(arguments);
  if (out.empty()) throw UsageError("OUT", "expected the name of a directory to write, found ''");
  // Throws now, before the long work, if OUT cannot be written.
  require_new_directory(path_of(out));

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
  save_quantized(after, path, path_of(out), [&](double share) {
    writing.part(share);
    if (interrupted()) reject("interrupted; ", out, " was not written");
  });
  writing.done();
  write_stdout(out + "\n" + cost_in_words(cost));
  return 0;
}

}  // namespace gpt2::cli
