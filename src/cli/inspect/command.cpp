#include <optional>

#include "base/fail.h"
#include "base/new_file.h"
#include "cli/commands.h"
#include "cli/inspect/activations.h"
#include "cli/inspect/page.h"
#include "cli/inspect/report.h"
#include "cli/inspect/view.h"
#include "cli/model.h"
#include "cli/terminal/console.h"
#include "cli/tokens.h"

namespace gpt2::cli {
namespace {

constexpr const char* kInspectSummary =
    R"(TEXT is read once, and what the model computed for it is shown: how likely each token was, what
each LayerNorm does to the vectors that pass through it, where the heads look, which neurons are
active, what the model would predict after each block (the logit lens), and which parts of the model
make up the logit of its prediction.

Without other options, this is a summary in text. -o writes a page for a browser, a single file that
needs no network, in which you choose a token and see everything about it, with LayerNorm step by
step. --json writes all numbers. gpt2/inspect.h defines them.

)";

constexpr const char* kInspectExamples = R"(Examples:
  gpt2 inspect "The cat sat on the mat. The cat"
  gpt2 inspect -o report.html "The cat sat on the mat. The cat"
  gpt2 inspect -m openai-community/gpt2 --json -f poem.txt | jq '.norms[0].tokens[0]')";

struct Settings {
  ModelSettings model;
  std::string text = "-";
  std::string file = "-";
  std::string page;
  bool tokens = false;
  bool as_json = false;
  bool no_attention = false;
  std::size_t top = 5;
};

Settings read_settings(const Arguments& arguments) {
  Settings settings;
  Options options("gpt2 inspect", "Shows what a model computes for a text",
                  std::string(kInspectSummary) + kInspectExamples);
  options.add_text("TEXT", "", settings.text, "The text; -: from standard input");
  options.add_file("-f,--file", settings.file, "Read the text from FILE; -: from standard input")
      .excluded = {"TEXT"};
  add_model_options(options, settings.model);
  options.add_switch("--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  options.add_number("--top", settings.top, {1, 100},
                     "How many likely tokens, dimensions and neurons the lists have");
  options.begin_group("Output");
  options.add_file("-o,--output", settings.page, "Write a page for a browser to FILE");
  options.add_switch("--json", settings.as_json, "Write all numbers as one line of JSON");
  options.add_switch("--no-attention", settings.no_attention,
                     "Leave the attention weights out of the JSON, which is then much shorter")
      .needed = "--json";
  options.at("--json").excluded = {"--output"};
  options.parse(arguments);
  return settings;
}

std::vector<TokenId> read_tokens(const Settings& settings, const std::optional<Tokenizer>& tokenizer,
                                 const Config& config) {
  const std::string text = settings.text == "-" ? read_input(settings.file) : settings.text;
  const TokenReader reader = {tokenizer, config.vocab_size};
  std::vector<TokenId> tokens = reader.read(text);
  if (!tokens.empty() && tokens.size() <= config.n_positions) return tokens;
  reject("expected a text of 1 to ", config.n_positions, " tokens, found ", tokens.size());
}

}  // namespace

int inspect(const Arguments& arguments) {
  Settings settings = read_settings(arguments);
  // Throws now, before the work, if the file cannot be written.
  std::optional<NewFile> page;
  if (!settings.page.empty()) page.emplace(settings.page);
  settings.model.find();
  Progress loading("loading " + settings.model.path.string());
  const Engine engine(load_model(settings.model), settings.model.engine);
  const Model& model = engine.model();
  std::optional<Tokenizer> tokenizer;
  if (!settings.tokens) tokenizer = load_tokenizer(settings.model.path);
  loading.done();

  Report report = {model, tokenizer, settings.model.path.string(),
                   read_tokens(settings, tokenizer, model.config()), {}};
  Activations activations(model.config(), page.has_value());
  Progress progress("inspecting");
  const bool needs_activations = page || (settings.as_json && !settings.no_attention);
  report.found = inspect(engine, report.tokens,
                         {.top = settings.top,
                          .observer = needs_activations ? activations.observer() : Observer(),
                          .progress = [&](double share) { progress.part(share); }});
  progress.done();
  if (page) {
    const std::string text = page_of(report, activations);
    page->write(std::as_bytes(std::span(text)));
    page->commit();
  } else if (settings.as_json) {
    Json json = report_json(report);
    if (!settings.no_attention) add_attention(json, activations);
    write_stdout(line_of(json));
  } else {
    write_stdout(view_of(report));
  }
  return 0;
}

}  // namespace gpt2::cli
