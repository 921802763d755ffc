#include <nlohmann/json.hpp>
#include <optional>

#include "base/fail.h"
#include "base/new_file.h"
#include "base/paths.h"
#include "cli/commands.h"
#include "cli/lines/records.h"
#include "cli/model.h"
#include "cli/replaceable.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "cli/tokens.h"
#include "gpt2/embed.h"
#include "requests/embedding.h"

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

struct EmbedSettings {
  ModelSettings model;
  std::string file = "-";
  std::string npy;
  bool tokens = false;
  bool jsonl = false;
  std::optional<std::string> layer;  // a number, whose range depends on the model
  EmbedOptions embed;
};

EmbedSettings read_embed_settings(const Arguments& arguments) {
  EmbedSettings settings;
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

// The first bytes of NumPy's array file.
constexpr std::string_view kNpyMagic = "\x93NUMPY";

// Returns the header of NumPy's array file, version 1.0, for a float32 matrix in C order: a magic
// word, the version, the length of the description in two bytes, and the description. It has the
// same length for any shape, so that it can be overwritten when the shape is known.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
std::string npy_header(std::size_t rows, std::size_t columns) {
  constexpr std::size_t kBytes = 192;  // a multiple of 64, where the data begins
  std::string bytes(kNpyMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, kBytes - 10, std::size_t{0}}) {
    bytes += static_cast<char>(byte);
  }
  bytes +=
      concat("{'descr': '<f4', 'fortran_order': False, 'shape': (", rows, ", ", columns, "), }");
  bytes.resize(kBytes - 1, ' ');
  return bytes + '\n';
}

using Text = std::vector<TokenId>;

struct Embedder {
  const EmbedSettings& settings;
  Engine engine;
  EmbedOptions options;
  std::optional<Tokenizer> tokenizer;

  // Throws Error if the line has no vector.
  [[nodiscard]] Text read(const std::string& line) const;
};

std::size_t read_layer(const std::string& text, const Config& config) {
  std::size_t layer = 0;
  if (read_number(text, layer) && layer <= config.n_layer) return layer;
  throw UsageError("--layer", concat("expected a whole number from 0, the embeddings, to ",
                                     config.n_layer, ", the last layer, found '", text, "'"));
}

Text Embedder::read(const std::string& line) const {
  const Config& config = engine.model().config();
  const TokenReader reader = {tokenizer, config.vocab_size, note_lost_bytes};
  Text text = settings.jsonl ? read_record(reader, line) : reader.read(line);
  if (!text.empty() && text.size() <= config.n_positions) return text;
  reject("expected a text of 1 to ", config.n_positions, " tokens, found ", text.size());
}

// Calls take(group) for groups of lines.
template <class Take>
void read_texts(const Embedder& embedder, const Take& take) {
  const std::string& file = embedder.settings.file;
  read_lines<Text>(
      file, "embedding " + shown_input(file),
      [&](const std::string& line) { return embedder.read(line); },
      [](const Text& text) { return text.size(); }, take);
}

void write_json(const Embedder& embedder) {
  AnswerWriter writer;
  read_texts(embedder, [&](const LineGroup<Text>& group) {
    const auto vectors = gpt2::embed(embedder.engine, group.items, embedder.options);
    std::vector<Json> records;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      records.push_back(
          {{"tokens", group.items[i].size()}, {"embedding", vector_json(vectors[i], false)}});
    }
    writer.write(group.first, group.errors, std::move(records));
  });
  writer.end(embedder.settings.file);
}

// Writes NumPy's array file, which replaces an existing one when it is complete. Throws Error on
// Ctrl-C, so that the incomplete file is removed, and if there are no lines, which must be a
// mistake, so that an older file stays.
void write_array(Embedder& embedder) {
  const EmbedSettings& settings = embedder.settings;
  NewFile file(path_of(settings.npy));
  const auto check_interrupt = [&](double) {
    if (interrupted()) reject("interrupted; ", settings.npy, " was not written");
  };
  embedder.options.progress = check_interrupt;
  const std::size_t n_embd = embedder.engine.model().config().n_embd;
  const std::string unknown_shape = npy_header(0, n_embd);
  file.write(std::as_bytes(std::span(unknown_shape)));
  std::size_t rows = 0;
  read_texts(embedder, [&](const LineGroup<Text>& group) {
    for (std::size_t i = 0; i < group.errors.size(); ++i) {
      if (!group.errors[i]) continue;
      reject(shown_input(settings.file), ": ", about_line(group.first + i, *group.errors[i]));
    }
    for (const auto& vector : gpt2::embed(embedder.engine, group.items, embedder.options)) {
      file.write(std::as_bytes(std::span(vector)));
      ++rows;
    }
  });
  check_interrupt(1.0);
  if (rows == 0) reject("--npy: there are no lines, so no array is written");
  const std::string shape = npy_header(rows, n_embd);
  file.overwrite(std::as_bytes(std::span(shape)));
  file.commit();
}

}  // namespace

int embed(const Arguments& arguments) {
  EmbedSettings settings = read_embed_settings(arguments);
  if (!settings.npy.empty()) {
    require_replaceable(path_of(settings.npy), "a NumPy array", begins_with(kNpyMagic));
  }
  settings.model.find();
  Progress loading("loading " + settings.model.path.string());
  const Engine engine(load_model(settings.model), settings.model.engine);
  Embedder embedder = {settings, engine, settings.embed, {}};
  if (settings.layer) {
    embedder.options.layer = read_layer(*settings.layer, engine.model().config());
  }
  if (!settings.tokens) embedder.tokenizer = load_tokenizer(settings.model.path);
  loading.done();
  if (settings.npy.empty()) {
    write_json(embedder);
  } else {
    note_interrupts();
    write_array(embedder);
  }
  return 0;
}

}  // namespace gpt2::cli
