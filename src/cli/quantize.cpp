#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/fail.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/default_text.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "gpt2/score.h"

namespace gpt2::cli {
namespace {

constexpr const char* kQuantizeDetails =
    R"(Writes the quantized model to the directory OUT, which loads without conversion, and prints
what quantizing costs: the bytes read for each token, and the perplexity, before and after. If the
command is killed, it leaves a directory OUT.partial-ID, which can be deleted.

Perplexity is measured as by gpt2 score, in windows as long as the model's context that begin half a
window apart. Its change is printed with its standard error over the windows, if there are several.

Examples:
  gpt2 quantize openai-community/gpt2 models/gpt2-int8
  gpt2 quantize models/gpt2 models/gpt2-int4 --dtype int4 --text novel.txt)";

// Returns the tokens of the text in `file` or, without one, of short stories for children, written
// for this engine, because the bundled model was trained on nothing else; larger models can predict
// them, too. Returns no tokens if there is no tokenizer.
std::vector<TokenId> tokens_to_measure(const std::string& file,
                                       const std::optional<Tokenizer>& tokenizer) {
  std::string text;
  for (const std::string_view piece : kDefaultText) text += piece;
  if (!file.empty()) text = read_input(file);
  std::vector<TokenId> tokens;
  if (tokenizer) tokens = tokenizer->encode(text);
  if (tokens.size() >= 2 || (!tokenizer && !text.empty())) return tokens;
  reject("--text ", file, ": expected a text of two tokens or more, found ", tokens.size());
}

// Returns, for example, "14.3975 -> 14.4012 (+0.03 % +- 0.08 %)".
std::string in_words(const PerplexityComparison& found) {
  const std::string change = format("%.6g -> %.6g (%+.2f %%", found.perplexity[0],
                                    found.perplexity[1], 100.0 * found.change);
  if (std::isnan(found.standard_error)) return change + ")";
  return change + format(" +- %.2f %%)", 100.0 * found.standard_error);
}

std::string size_in_words(double bytes) {
  return bytes < 1e6 ? format("%.1f KB", 1e-3 * bytes) : format("%.1f MB", 1e-6 * bytes);
}

// Measures the effect of converting a model's weights to another type, and returns it as lines of
// text. Perplexity is not measured if there are no tokens, or if the model's vocabulary lacks one.
std::string cost(const Model& before, const Model& after, const std::vector<TokenId>& tokens) {
  const auto read = static_cast<double>(before.bytes_per_token());
  const auto reads = static_cast<double>(after.bytes_per_token());
  std::string text =
      concat("each token   reads ", size_in_words(read), " -> ", size_in_words(reads),
             format(" of weights (%+.1f %%)\n", 100.0 * (reads / read - 1.0)));
  const auto vocab_size = static_cast<TokenId>(before.config().vocab_size);
  if (tokens.empty() || std::ranges::max(tokens) >= vocab_size) {
    return text + "perplexity   not measured: no tokenizer fits the model\n";
  }
  Progress line("measuring perplexity");
  const PerplexityComparison found = compare_perplexity(Engine(before), Engine(after), tokens,
                                                        [&](double done) { line.part(done); });
  if (!std::isfinite(found.perplexity[0] + found.perplexity[1])) {
    throw Error(ErrorCode::invalid_file,
                before.description().files.back().string() +
                    ": expected a finite perplexity, found NaN or infinity: the weights are "
                    "damaged");
  }
  return text + concat("perplexity   ", in_words(found), " on ", found.tokens, " tokens in ",
                       counted(found.windows, "window"), "\n");
}

}  // namespace

int quantize(const Arguments& arguments) {
  ModelSettings model;
  std::string out;
  std::string text_file;
  std::string type = "int8";
  Options options("gpt2 quantize", "Quantizes a model's weights to 8 or 4 bits", kQuantizeDetails);
  options.add_text("MODEL", "", model.name, "A directory, a file in it, or a name").is_required =
      true;
  options
      .add_text("OUT", "", out,
                "The directory to write, which must not exist yet; missing parents are made, too")
      .is_required = true;
  options.add_choice("--dtype", "int8|int4", "The type to quantize to (default int8)",
                     [&type](const std::string& text) { type = text; });
  add_base_option(options, model.base);
  add_tokenizer_option(options, model.tokenizer);
  options.add_file("--text", text_file,
                   "The text to measure perplexity on (default: built-in short stories)");
  add_quiet_option(options);
  options.parse(arguments);
  if (out.empty()) throw UsageError("OUT", "expected the name of a directory to write, found ''");
  // Throws now, before the long work, if OUT cannot be written.
  require_new_directory(path_of(out));

  model.find();
  const std::filesystem::path& path = model.path;
  const auto tokenizer = find_tokenizer(model, "no perplexity is measured");
  Progress progress("quantizing " + path.string());
  const auto tokens = tokens_to_measure(text_file, tokenizer);
  const Model before = Model::load(path, {.base = model.base});
  if (!model.tokenizer.empty()) tokenizer->require_match(before.config());
  if (name_of(before.config().quantized) == type) {
    throw UsageError("--dtype", path.string() + ": its weights are " + type +
                                    " already: copy the directory instead");
  }
  const auto show = [&](double share) { progress.part(share); };
  const LoadOptions load{.dtype = parse_dtype(type), .base = model.base, .progress = show};
  const Model after = load_as(path, load);
  progress.done();
  const std::string costs = cost(before, after, tokens);
  Progress writing("writing " + out);
  note_interrupts();
  const auto report = [&](double share) {
    writing.part(share);
    if (interrupted()) reject("interrupted; ", out, " was not written");
  };
  save_quantized(after, path, path_of(out), report, model.places.tokenizer);
  writing.done();
  write_stdout(out + "\n" + costs);
  return 0;
}

}  // namespace gpt2::cli
