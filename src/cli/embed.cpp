#include <nlohmann/json.hpp>
#include <optional>

#include "requests/members.h"
#include "base/fail.h"
#include "base/new_file.h"
#include "base/paths.h"
#include "cli/commands.h"
#include "cli/lines/records.h"
#include "cli/model.h"
#include "cli/npy.h"
#include "cli/replaceable.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "cli/tokens.h"
#include "gpt2/embed.h"

namespace gpt2::cli {
namespace {

constexpr const char* kEmbedSummary =
    R"(Each line of FILE, or of standard input, is a text. For each of them, standard output has a
line of JSON with its vector, in the same order. A text may have at most as many tokens as the model
has positions. The record of a line that has no vector has "error", and the command ends with status
1.

The vector is the mean of the hidden states of the text's tokens or, with --pooling last, the state
of the last token. Layers count as in HuggingFace's hidden_states: 0 are the embeddings, and the
last one, which is the default, is the output of the last block after the final LayerNorm. Vectors
are not normalized.

With --npy, the vectors become the rows of a NumPy array of float32 in a file, and nothing is
printed; a line without a vector is an error then. The file may exist if it is such an array: it is
replaced when the new one is complete.

)";

constexpr const char* kEmbedExamples = R"(Examples:
  gpt2 embed sentences.txt > vectors.jsonl
  gpt2 embed --pooling last --layer 4 sentences.txt
  gpt2 embed --npy vectors.npy sentences.txt
  echo '{"text": "two\nlines"}' | gpt2 embed --jsonl)";

struct Settings {
  ModelSettings model;
  std::string file = "-";
  std::string npy;
  bool tokens = false;
  bool jsonl = false;
  std::optional<std::string> layer;  // a number, whose range depends on the model
  EmbedOptions embed;
};

Settings read_settings(const Arguments& arguments) {
  Settings settings;
  Options options("gpt2 embed", "Turns texts into vectors",
                  std::string(kEmbedSummary) + kEmbedExamples);
  options.add_file("FILE", settings.file, "The texts, one a line; -: standard input");
  add_model_options(options, settings.model);
  options.add_choice("--pooling", "mean|last",
                     "The mean of all tokens' states (default), or the last token's",
                     [&settings](const std::string& name) {
                       settings.embed.pooling = name == "last" ? Pooling::last : Pooling::mean;
                     });
  options.add("--layer", "N", "The layer whose states are taken (default: the last)",
              [&settings](const std::string& text) { settings.layer = text; });
  options.add_switch("--jsonl", settings.jsonl,
                     "Each line is a JSON object with \"text\" or \"token_ids\"");
  options.add_switch("--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  options.add_file("--npy", settings.npy, "Write the vectors to FILE as a NumPy array");
  options.parse(arguments);
  if (settings.npy == "-") throw UsageError("--npy", "expected the name of a file, found '-'");
  refuse_own_input("FILE", settings.file, settings.npy);
  return settings;
}

// Writes a float32 matrix whose shape need not be known beforehand as NumPy's array file. When the
// new file is complete, it replaces an existing one. Throws what NewFile throws.
class NpyWriter {
 public:
  explicit NpyWriter(const std::string& file) : out_(path_of(file)) {
    const std::string unknown_shape = header(0);
    out_.write(std::as_bytes(std::span(unknown_shape)));
  }

  void append(std::span<const std::vector<float>> rows) {
    for (const std::vector<float>& row : rows) out_.write(std::as_bytes(std::span(row)));
    rows_ += rows.size();
  }

  // Completes the file. REQUIRES: each row has as many floats as there are columns. Throws Error if
  // there are no rows, which must be a mistake, so that an older file stays.
  void finish(std::size_t columns) {
    if (rows_ == 0) reject("--npy: there are no lines, so no array is written");
    const std::string known_shape = header(columns);
    out_.overwrite(std::as_bytes(std::span(known_shape)));
    out_.commit();
  }

 private:
  [[nodiscard]] std::string header(std::size_t columns) const {
    const std::size_t shape[] = {rows_, columns};
    return npy_header(shape);
  }

  std::size_t rows_ = 0;
  NewFile out_;
};

class Embedder {
 public:
  explicit Embedder(const Settings& settings)
      : settings_(settings),
        options_(settings.embed),
        engine_(load_model(settings.model), settings.model.engine) {
    if (settings.layer) options_.layer = read_layer(*settings.layer);
    if (!settings.tokens) tokenizer_ = load_tokenizer(settings.model.path);
  }

  void write_json() const;
  void write_array(NpyWriter& writer) const;

 private:
  using Text = std::vector<TokenId>;

  [[nodiscard]] std::size_t read_layer(const std::string& text) const;

  // Throws Error if the line has no vector.
  [[nodiscard]] Text read(const std::string& line) const;
  [[nodiscard]] static std::size_t size_of(const Text& text) { return text.size(); }

  const Settings& settings_;
  EmbedOptions options_;
  Engine engine_;
  std::optional<Tokenizer> tokenizer_;
};

std::size_t Embedder::read_layer(const std::string& text) const {
  const std::size_t last = engine_.model().config().n_layer;
  std::size_t layer = 0;
  if (read_number(text, layer) && layer <= last) return layer;
  throw UsageError("--layer", concat("expected a whole number from 0, the embeddings, to ", last,
                                     ", the last layer, which is the default, found '", text, "'"));
}

Embedder::Text Embedder::read(const std::string& line) const {
  const Config& config = engine_.model().config();
  const TokenReader reader = {tokenizer_, config.vocab_size, note_lost_bytes};
  Text text = settings_.jsonl ? read_record(reader, line) : reader.read(line);
  if (!text.empty() && text.size() <= config.n_positions) return text;
  reject("expected a text of 1 to ", config.n_positions, " tokens, found ", text.size());
}

void Embedder::write_json() const {
  const auto answer = [&](std::span<const Text> texts) {
    std::vector<Json> records;
    const std::vector<std::vector<float>> vectors = gpt2::embed(engine_, texts, options_);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Json& record = records.emplace_back(Json{{"tokens", texts[i].size()}});
      Json& numbers = record["embedding"] = Json::array();
      for (const float number : vectors[i]) numbers.push_back(short_number(number));
    }
    return records;
  };
  answer_lines<Text>(
      settings_.file, "embedding " + shown_input(settings_.file),
      [&](const std::string& line) { return read(line); }, size_of, answer);
}

// On Ctrl-C, throws Error, so that the incomplete file is removed.
void Embedder::write_array(NpyWriter& writer) const {
  EmbedOptions options = options_;
  const auto check_interrupt = [&](double = 0.0) {
    if (interrupted()) reject("interrupted; ", settings_.npy, " was not written");
  };
  options.progress = check_interrupt;
  const auto take = [&](const LineGroup<Text>& group) {
    for (std::size_t i = 0; i < group.errors.size(); ++i) {
      if (!group.errors[i]) continue;
      reject(shown_input(settings_.file), ": ", about_line(group.first + i, *group.errors[i]));
    }
    writer.append(gpt2::embed(engine_, group.items, options));
  };
  read_lines<Text>(
      settings_.file, "embedding " + shown_input(settings_.file),
      [&](const std::string& line) { return read(line); }, size_of, take);
  check_interrupt();
  writer.finish(engine_.model().config().n_embd);
}

}  // namespace

int embed(const Arguments& arguments) {
  Settings settings = read_settings(arguments);
  if (!settings.npy.empty()) {
    require_replaceable(path_of(settings.npy), "a NumPy array", begins_with(kNpyMagic));
  }
  settings.model.find();
  Progress loading("loading " + settings.model.path.string());
  const Embedder embedder(settings);
  loading.done();
  if (settings.npy.empty()) {
    embedder.write_json();
    return 0;
  }
  note_interrupts();
  NpyWriter writer(settings.npy);
  embedder.write_array(writer);
  return 0;
}

}  // namespace gpt2::cli
