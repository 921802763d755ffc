#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/new_file.h"
#include "base/paths.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "cli/options/request_options.h"
#include "cli/terminal/console.h"
#include "requests/answer/inspection.h"
#include "requests/read/text_requests.h"
#include "requests/run/run.h"

namespace gpt2::cli {
namespace {

constexpr const char* kInspectDetails =
    R"(TEXT is read once, and what the model computed for it is shown: a summary of how likely each
token was, what each LayerNorm does to the vectors that pass through it, and what the model would
predict after each block (the logit lens). -o writes a page for a browser, in which you choose a
token and see everything about it. --json writes all numbers, which gpt2/inspect.h defines.

Changes, such as --skip-head, show what a part is good for: the loss and the prediction are compared
with those of the model as it is.

Examples:
  gpt2 inspect "The cat sat on the mat. The cat"
  gpt2 inspect -o report.html "The cat sat on the mat. The cat"
  gpt2 inspect --json -f poem.txt | jq '.norms[0].tokens[0]'
  gpt2 inspect --skip-head 2.1 --identity-norm ln_2.0 "The cat sat on the mat.")";

struct InspectSettings {
  ModelSettings model;
  std::string text = "-";
  std::string file = "-";
  std::string page;
  bool tokens = false;
  bool as_json = false;
  bool no_attention = false;
  nlohmann::json request = nlohmann::json::object();  // the options of the request
};

void add_changes(Options& options, InspectSettings& settings) {
  constexpr std::pair<const char*, const char*> kForms[] = {
      {"N", "Block N, from 0, adds nothing to the residual stream"},
      {"N.H", "The output of head H of block N is 0: 2.1 is head 1 of block 2"},
      {"N", "The feed-forward layer of block N adds nothing"},
      {"NORM", "ln_1.N, ln_2.N or ln_f only multiplies by its weight and adds its bias"}};
  options.begin_group("Changes, compared with the model");
  for (std::size_t kind = 0; kind < std::size(kForms); ++kind) {
    const char* const name = PassChange::kNames[kind];
    const auto set = [&settings, name](const std::string& place) {
      settings.request[name].push_back(place);
    };
    options.add(option_name(name), kForms[kind].first, kForms[kind].second, set).is_repeatable =
        true;
  }
}

InspectSettings read_settings(const Arguments& arguments) {
  InspectSettings settings;
  Options options("gpt2 inspect", "Shows what a model computes for a text", kInspectDetails);
  options.add_text("TEXT", "", settings.text, "The text; -: from standard input");
  options
      .add_file("-f,--file", settings.file,
                "Read the text from FILE, without one newline at its end; -: from standard input")
      .excluded = {"TEXT"};
  add_model_options(options, settings.model);
  options.add_switch("--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  add_number_member(options, "--top", settings.request,
                    "How many likely tokens, dimensions and neurons the lists have (default 5)");
  add_changes(options, settings);
  options.begin_group("Output");
  options.add_file("-o,--output", settings.page,
                   "Write a page for a browser to FILE, which replaces an older page, but no other "
                   "file");
  options.add_switch("--json", settings.as_json, "Write all numbers as one line of JSON");
  options
      .add_switch("--no-attention", settings.no_attention,
                  "Leave the attention weights out of the JSON, which is then much shorter")
      .needed = "--json";
  options.at("--json").excluded = {"--output"};
  options.parse(arguments);
  if (settings.page == "-") {
    throw UsageError("--output", "expected the name of a file, found '-'");
  }
  return settings;
}

// Reads the request with this text.
InspectionRequest read_request(const InspectSettings& settings, const std::string& text,
                               const std::optional<Tokenizer>& tokenizer, const Config& config) {
  const RequestContext context = {tokenizer, config};
  nlohmann::json body = settings.request;
  body["prompt"] = text_or_ids(text, context);
  body["attention"] = !settings.page.empty() || (settings.as_json && !settings.no_attention);
  InspectionRequest request =
      read_arguments(settings.request, [&] { return read_inspection_request(body, context); });
  note_lost_bytes(request.lost_bytes, text.size());
  return request;
}

void write_page(const std::string& file, const std::string& text) {
  NewFile page(path_of(file));
  page.write(std::as_bytes(std::span(text)));
  page.commit();
}

// Returns the beginning of a text in exactly this many columns, of which each character takes one.
std::string fitted(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  for (; columns > 0 && bytes < text.size(); --columns) {
    bytes += decode_utf8(text.substr(bytes)).length;
  }
  return std::string(text.substr(0, bytes)) + std::string(columns, ' ');
}

template <class Item>
double mean_of(const std::vector<Item>& items, float Item::*number) {
  double sum = 0.0;
  for (const Item& item : items) sum += item.*number;
  return sum / static_cast<double>(items.size());
}

// The summary: the tokens, the LayerNorms by layer, and the predictions by layer.
class Summary {
 public:
  Summary(const InspectionRequest& request, const InspectionResult& result,
          const InspectedModel& of)
      : tokens_(request.tokens), result_(result), of_(of) {}

  [[nodiscard]] std::string text() const {
    return title() + losses() + tokens() + norms() + predictions();
  }

 private:
  [[nodiscard]] std::string title() const {
    const Config& config = of_.model.config();
    return section(concat(of_.name, ": ", counted(config.n_layer, "block"), ", ",
                          counted(config.n_head, "head"), ", ", config.n_embd, " dimensions; ",
                          counted(tokens_.size(), "token")),
                   "");
  }

  // The loss and the prediction with the changes and without them.
  [[nodiscard]] std::string losses() const {
    std::string text;
    if (!result_.unchanged) return text;
    for (const auto& [side, found] :
         {std::pair("changed", &result_.found), {"unchanged", &*result_.unchanged}}) {
      text += format("%-10s loss %.4f, next: ", side, loss_of(*found)) +
              likely(found->lens.back().back().top, 40) + '\n';
    }
    return text;
  }

  [[nodiscard]] std::string section(const std::string& what, const char* names) const {
    const std::string text = filled_paragraphs(what);
    return text + (text.ends_with('\n') ? "" : "\n") + names;
  }

  // A token in quotes, because most begin with a space.
  [[nodiscard]] std::string shown(TokenId id) const {
    return of_.tokenizer ? printable(Json(of_.tokenizer->bytes(id)).text()) : std::to_string(id);
  }

  // As many tokens as there is room for, with their log-probabilities.
  [[nodiscard]] std::string likely(const std::vector<LikelyToken>& top, std::size_t columns) const {
    std::string text;
    for (const LikelyToken& token : top) {
      const std::string longer = text + (text.empty() ? "" : "  ") + shown(token.id) +
                                 format(" %.2f", double{token.logprob});
      if (fitted(longer, columns).size() < longer.size()) break;
      text = longer;
    }
    return text;
  }

  [[nodiscard]] std::string tokens() const {
    std::string text =
        section("\nTokens: log-probabilities in nats, and how many tokens were likelier (rank)",
                "                 logprob   rank  likeliest, with logprobs\n");
    for (std::size_t t = 0; t < tokens_.size(); ++t) {
      const TokenLogprob& score = result_.found.scores[t];
      text += fitted(shown(tokens_[t]), 16);
      text += t == 0 ? "       -      -"
                     : format("%8.2f %6zu  ", double{score.logprob}, score.rank) +
                           likely(score.top, 46);
      text += '\n';
    }
    return text;
  }

  [[nodiscard]] std::string norms() const {
    std::string text = section(
        "\nLayerNorm: means over the tokens; |x| and |y| are the lengths of the vectors before and "
        "after it",
        "                mean  variance    |x|    |y|\n");
    for (std::size_t i = 0; i < result_.found.norms.size(); ++i) {
      const std::vector<NormInspection>& norms = result_.found.norms[i];
      const std::string name = norm_name(i, of_.model.config().n_layer);
      text += format(
          "%-11s %8.3f %9.3g %6.1f %6.1f\n", name.c_str(), mean_of(norms, &NormInspection::mean),
          mean_of(norms, &NormInspection::variance), mean_of(norms, &NormInspection::input_norm),
          mean_of(norms, &NormInspection::output_norm));
    }
    return text;
  }

  [[nodiscard]] std::string predictions() const {
    std::string text = section(
        "\nNext token: what the model would predict if it ended there (the logit lens); KL "
        "is the distance of this prediction from the last one, in nats",
        "after                        KL  likeliest, with logprobs\n");
    for (std::size_t layer = 0; layer < result_.found.lens.size(); ++layer) {
      const LensInspection& lens = result_.found.lens[layer].back();
      const std::string name = layer == 0 ? "the embeddings" : concat("block ", layer - 1);
      text += format("%-21s %9.3f  ", name.c_str(), double{lens.kl}) + likely(lens.top, 46) + '\n';
    }
    return text;
  }

  const std::vector<TokenId>& tokens_;
  const InspectionResult& result_;
  const InspectedModel& of_;
};

}  // namespace

int inspect(const Arguments& arguments) {
  InspectSettings settings = read_settings(arguments);
  if (!settings.page.empty()) {
    require_replaceable(path_of(settings.page), "a page of gpt2 inspect", [](const auto& file) {
      return gpt2::text_of(MappedFile(file).bytes()).starts_with(inspection_page_begin());
    });
  }
  settings.model.find();
  const Engine engine(load_model(settings.model), settings.model.engine);
  std::optional<Tokenizer> tokenizer;
  if (!settings.tokens) tokenizer = load_tokenizer(settings.model);
  const std::string text = settings.text == "-" ? read_prompt_input(settings.file) : settings.text;
  const InspectionRequest request =
      read_request(settings, text, tokenizer, engine.model().config());
  Progress inspecting("inspecting");
  const InspectionResult result =
      run_inspection(engine, request, [&](double share) { inspecting.part(share); });
  inspecting.done();

  const InspectedModel model = {settings.model.path.string(), engine.model(), tokenizer};
  if (!settings.page.empty()) {
    write_page(settings.page, inspection_page(request, result, model));
  } else if (settings.as_json) {
    write_stdout(line_of(inspection_json(request, result, model)));
  } else {
    write_stdout(Summary(request, result, model).text());
  }
  return 0;
}

}  // namespace gpt2::cli
