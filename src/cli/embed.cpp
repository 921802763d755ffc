#include "gpt2/embed.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "requests/answer/numbers.h"

namespace gpt2::cli {
namespace {

constexpr const char* kEmbedDetails =
    R"(Each line of FILE, or of standard input, is a text. For each of them, standard output has a
line of JSON with its vector, in the same order. A text may have at most as many tokens as the model
has positions. The record of a line that has no vector has "error", and the command ends with status
1.

The vector is the mean of the hidden states of the text's tokens or, with --pooling last, the state
of the last token. Layers count as in HuggingFace's hidden_states: 0 are the embeddings, and the
last one, which is the default, is the output of the last block after the final LayerNorm. Vectors
are not normalized.

Examples:
  gpt2 embed sentences.txt > vectors.jsonl
  gpt2 embed --pooling last --layer 4 sentences.txt
  echo '{"text": "two\nlines"}' | gpt2 embed --jsonl)";

struct EmbedSettings {
  ModelSettings model;
  std::string file = "-";
  bool tokens = false;
  bool jsonl = false;
  std::optional<std::string> layer;  // a number, whose range depends on the model
  EmbedOptions embed;
};

EmbedSettings read_embed_settings(const Arguments& arguments) {
  EmbedSettings settings;
  Options options("gpt2 embed", "Turns texts into vectors", kEmbedDetails);
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
  options.parse(arguments);
  return settings;
}

std::size_t read_layer(const std::string& text, const Config& config) {
  std::size_t layer = 0;
  if (read_number(text, layer) && layer <= config.n_layer) return layer;
  throw UsageError("--layer", concat("expected a whole number from 0, the embeddings, to ",
                                     config.n_layer, ", the last layer, found '", text, "'"));
}

void embed_lines(const EmbedSettings& settings, const Engine& engine,
                 const std::optional<Tokenizer>& tokenizer) {
  const Config& config = engine.model().config();
  const TokenReader reader = {tokenizer, config.vocab_size, note_lost_bytes};
  std::vector<std::vector<TokenId>> texts;
  const auto read = [&](const std::string& line) {
    auto text = settings.jsonl ? read_record(reader, line) : reader.read(line);
    if (text.empty() || text.size() > config.n_positions) {
      reject("expected a text of 1 to ", config.n_positions, " tokens, found ", text.size());
    }
    return texts.emplace_back(std::move(text)).size();
  };
  const auto answer = [&] {
    std::vector<Json> records;
    for (const auto& vector : gpt2::embed(engine, texts, settings.embed)) {
      const std::size_t tokens = texts[records.size()].size();
      records.push_back({{"tokens", tokens}, {"embedding", vector_json(vector, false)}});
    }
    texts.clear();
    return records;
  };
  answer_lines(settings.file, "embedding " + shown_input(settings.file), read, answer);
}

}  // namespace

int embed(const Arguments& arguments) {
  EmbedSettings settings = read_embed_settings(arguments);
  settings.model.find();
  const Engine engine(load_model(settings.model), settings.model.engine);
  if (settings.layer) {
    settings.embed.layer = read_layer(*settings.layer, engine.model().config());
  }
  std::optional<Tokenizer> tokenizer;
  if (!settings.tokens) tokenizer = load_tokenizer(settings.model);
  embed_lines(settings, engine, tokenizer);
  return 0;
}

}  // namespace gpt2::cli
