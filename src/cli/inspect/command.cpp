#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/fail.h"
#include "base/new_file.h"
#include "base/paths.h"
#include "cli/commands.h"
#include "cli/inspect/activations.h"
#include "cli/inspect/comparison.h"
#include "cli/inspect/intervention.h"
#include "cli/inspect/npz.h"
#include "cli/inspect/page.h"
#include "cli/inspect/report.h"
#include "cli/inspect/view.h"
#include "cli/model.h"
#include "cli/replaceable.h"
#include "cli/terminal/console.h"
#include "cli/tokens.h"

namespace gpt2::cli {
namespace {

constexpr const char* kInspectSummary =
    R"(TEXT is read once, and what the model computed for it is shown. Without other options, this is a
summary in text: how likely each token was, what each LayerNorm does to the vectors that pass through
it, how the residual stream grows, which heads look most at which kinds of tokens, and what the model
would predict after each block (the logit lens).

-o writes a page for a browser, a single file that needs no network, in which you choose a token and
see everything about it, with LayerNorm step by step. Beyond the summary, it shows where each head
looks, which neurons are active, and which parts of the model make up the logit of its prediction.
--json writes all of these numbers, for each token. gpt2/inspect.h defines them.

Changes, such as --skip-head, show what a part is good for: the loss and the prediction are compared
with those of the model as it is. --against compares with another model of the same vocabulary, for
example a quantized one.

)";

constexpr const char* kInspectExamples = R"(Examples:
  gpt2 inspect "The cat sat on the mat. The cat"
  gpt2 inspect -o report.html "The cat sat on the mat. The cat"
  gpt2 inspect --json -f poem.txt | jq '.norms[0].tokens[0]'
  gpt2 inspect --skip-head 2.1 --identity-norm ln_2.0 "The cat sat on the mat."
  gpt2 inspect --against stories-int4 "The cat sat on the mat."
  gpt2 inspect --npz activations.npz "The cat sat on the mat."
  gpt2 inspect --patch "The dog sat@block_output.2:1" "The cat sat")";

struct Settings {
  ModelSettings model;
  std::string text = "-";
  std::string file = "-";
  std::string page;
  bool tokens = false;
  bool as_json = false;
  bool no_attention = false;
  std::size_t top = 5;
  std::string against;
  std::string npz;
  InterventionSettings changes;

  [[nodiscard]] bool compares() const { return !changes.shown().empty() || !against.empty(); }
};

Settings read_settings(const Arguments& arguments) {
  Settings settings;
  Options options("gpt2 inspect", "Shows what a model computes for a text",
                  std::string(kInspectSummary) + kInspectExamples);
  options.add_text("TEXT", "", settings.text, "The text; -: from standard input");
  options
      .add_file("-f,--file", settings.file,
                "Read the text from FILE, without one newline at its end; -: from standard input")
      .excluded = {"TEXT"};
  add_model_options(options, settings.model);
  options.add_switch("--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  options.add_number("--top", settings.top, {1, 100},
                     "How many likely tokens, dimensions and neurons the lists have");
  options.add_text("--against", "MODEL", settings.against,
                   "Compare with another model of the same vocabulary, whose weights are as they "
                   "are stored");
  add_intervention_options(options, settings.changes);
  options.begin_group("Output");
  options.add_file("-o,--output", settings.page,
                   "Write a page for a browser to FILE, which replaces an older page, but no other "
                   "file");
  options.add_switch("--json", settings.as_json, "Write all numbers as one line of JSON");
  options.add_file("--npz", settings.npz,
                   "Write all activations to FILE, as NumPy arrays with TransformerLens's names; "
                   "replaces an older archive of arrays, but no other file");
  options
      .add_switch("--no-attention", settings.no_attention,
                  "Leave the attention weights out of the JSON, which is then much shorter")
      .needed = "--json";
  options.at("--json").excluded = {"--output"};
  options.parse(arguments);
  if (options.has("--against") && settings.against.empty()) {
    throw UsageError("--against", "expected a model, found an empty name");
  }
  for (const auto& [option, file] :
       {std::pair("--output", &settings.page), {"--npz", &settings.npz}}) {
    if (*file == "-") throw UsageError(option, "expected the name of a file, found '-'");
  }
  if (!settings.npz.empty() && same_file(path_of(settings.npz), path_of(settings.page))) {
    throw UsageError("--npz", "expected another file than that of --output");
  }
  for (const std::string& file : {settings.page, settings.npz}) {
    refuse_own_input("--file", settings.file, file);
  }
  return settings;
}

// Inspects texts with one model.
class Inspector {
 public:
  explicit Inspector(const Settings& settings)
      : settings_(settings), engine_(load_model(settings.model), settings.model.engine) {
    if (!settings.tokens) tokenizer_ = load_tokenizer(settings.model.path);
  }

  [[nodiscard]] const Engine& engine() const { return engine_; }
  [[nodiscard]] const Model& model() const { return engine_.model(); }
  [[nodiscard]] const std::optional<Tokenizer>& tokenizer() const { return tokenizer_; }

  // Throws Error if the text is empty or too long.
  [[nodiscard]] std::vector<TokenId> read(const std::string& text) const {
    const Config& config = model().config();
    std::vector<TokenId> tokens =
        TokenReader{tokenizer_, config.vocab_size, note_lost_bytes}.read(text);
    if (!tokens.empty() && tokens.size() <= config.n_positions) return tokens;
    reject("expected a text of 1 to ", config.n_positions, " tokens, found ", tokens.size(),
           tokens.empty() ? ": give one as an argument, or with --file" : ": give a shorter one");
  }

  [[nodiscard]] Inspection inspect(std::span<const TokenId> tokens, Activations& activations,
                                   const Interventions* changes, const char* what) const {
    Progress progress(what);
    InspectOptions options = {.top = settings_.top,
                              .observer = activations.observer(),
                              .progress = [&](double share) { progress.part(share); }};
    if (changes) changes->add_to(options.observer);
    return gpt2::inspect(engine_, tokens, options);
  }

 private:
  const Settings& settings_;
  Engine engine_;
  std::optional<Tokenizer> tokenizer_;
};

// Returns the values that the report shows one by one, or from which it computes distances.
std::set<Observed> needed(const Settings& settings) {
  if (!settings.npz.empty()) return all_observed();
  std::set<Observed> all;
  if (!settings.page.empty() || settings.compares()) all = kNormInputs;
  if (!settings.page.empty() || (settings.as_json && !settings.no_attention)) {
    all.insert(Observed::attention_weights);
  }
  return all;
}

// Inspects the text with another model, or with the same one without changes.
Comparison compare(const Settings& settings, const Inspector& inspector, const Report& report,
                   const Activations& activations) {
  std::optional<Inspector> other;
  Settings of_other = settings;
  if (!settings.against.empty()) {
    of_other.model.path = settings.against;
    of_other.model.dtype = WeightType::stored;
    other.emplace(of_other);
    if (other->model().config().vocab_size != report.model.config().vocab_size) {
      throw UsageError("--against", concat("expected a model with the vocabulary of the other, ",
                                           report.model.config().vocab_size, " tokens, found ",
                                           other->model().config().vocab_size));
    }
  }
  const Inspector& with = other ? *other : inspector;
  if (report.tokens.size() > with.model().config().n_positions) {
    throw UsageError("--against", concat("the text has ", report.tokens.size(),
                                         " tokens, but this model takes at most ",
                                         with.model().config().n_positions));
  }
  Activations others(kNormInputs);
  Comparison comparison = {
      .name = other ? of_other.model.path.string() : "the model without changes",
      .found = with.inspect(report.tokens, others, nullptr, "inspecting the other model"),
      .distance = {}};
  comparison.distance = distances(norm_inputs(activations, report.model.config()),
                                  norm_inputs(others, with.model().config()), report.tokens.size());
  return comparison;
}

void write(const Settings& settings, const Report& report, const Activations& activations) {
  if (!settings.page.empty()) {
    const std::string text = page_of(report, activations);
    NewFile page(path_of(settings.page));
    page.write(std::as_bytes(std::span(text)));
    page.commit();
  } else if (settings.as_json) {
    Json json = report_json(report);
    if (!settings.no_attention) add_attention(json, activations);
    write_stdout(line_of(json));
  } else if (settings.npz.empty()) {
    write_stdout(view_of(report));
  }
  if (!settings.npz.empty()) write_npz(path_of(settings.npz), report, activations);
}

}  // namespace

int inspect(const Arguments& arguments) {
  Settings settings = read_settings(arguments);
  if (settings.text != "-") note_file_as_text(settings.text);
  if (!settings.page.empty()) {
    require_replaceable(path_of(settings.page), "a page of gpt2 inspect",
                        begins_with(page_begin()));
  }
  if (!settings.npz.empty()) {
    require_replaceable(path_of(settings.npz), "an archive of NumPy arrays", is_npz);
  }
  settings.model.find();
  if (!settings.against.empty()) {
    ModelSettings other = {.name = settings.against};
    other.find();
    settings.against = other.path.string();
  }
  Progress loading("loading " + settings.model.path.string());
  const Inspector inspector(settings);
  loading.done();

  const std::string text = settings.text == "-" ? read_prompt_input(settings.file) : settings.text;
  Report report = {inspector.model(),
                   inspector.tokenizer(),
                   settings.model.path.string(),
                   inspector.read(text),
                   {}};
  report.changes = settings.changes.shown();
  const auto read_patch = [&](const std::string& other) {
    try {
      return inspector.read(other);
    } catch (const Error& error) {
      throw UsageError("--patch", error.what());
    }
  };
  const Interventions changes(settings.changes, inspector.engine(), report.tokens.size(),
                              read_patch);
  Activations activations(needed(settings));
  report.found = inspector.inspect(report.tokens, activations, &changes, "inspecting");
  if (settings.compares()) report.compared = compare(settings, inspector, report, activations);
  write(settings, report, activations);
  return 0;
}

}  // namespace gpt2::cli
