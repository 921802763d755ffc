#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/load_model.h"
#include "cli/npy.h"
#include "cli/prompt.h"
#include "cli/records.h"
#include "gpt2/embed.h"

namespace gpt2::cli {
namespace {

constexpr const char* kSummary =
    R"(Each line of FILE, or of standard input, is a text. For each of them, standard output has a
line of JSON with its vector, in the same order. A text may have at most as many tokens as the model
has positions. The record of a line that has no vector has "error", and the command ends with status
1.

The vector is the mean of the hidden states of the text's tokens or, with --pooling last, the state
of the last token. Layers count as in HuggingFace's hidden_states: 0 are the embeddings, and the
last one, which is the default, is the output of the last block after the final LayerNorm. Vectors
are not normalized.

With --npy, the vectors become the rows of a NumPy array of float32 in a file, and nothing is
printed; a line without a vector is an error then.

)";

constexpr const char* kExamples = R"(Examples:
  gpt2 embed sentences.txt > vectors.jsonl
  gpt2 embed --pooling last --layer 4 sentences.txt
  gpt2 embed --npy vectors.npy sentences.txt
  echo '{"text": "two\nlines"}' | gpt2 embed --jsonl)";

struct Settings {
  std::string model = GPT2_BUNDLED_MODEL;
  std::string file = "-";
  std::string npy;
  WeightType dtype = WeightType::stored;
  KVType kv_type = KVType::automatic;
  int threads = 0;
  bool tokens = false;
  bool jsonl = false;
  EmbedOptions embed;
};

Settings read_settings(Arguments arguments) {
  Settings settings;
  CLI::App app("Turns texts into vectors", "gpt2 embed");
  app.footer(std::string(kSummary) + kExamples);
  app.add_option("FILE", settings.file, "The texts, one a line; -: standard input");
  add_model_option(app, settings.model);
  add_dtype_option(app, settings.dtype);
  add_kv_option(app, settings.kv_type);
  add_threads_option(app, settings.threads);
  const auto set_pooling = [&](const std::string& name) {
    settings.embed.pooling = name == "last" ? Pooling::last : Pooling::mean;
    if (name == "mean" || name == "last") return;
    throw UsageError("--pooling", "expected mean or last, found '" + name + "'");
  };
  app.add_option_function<std::string>("--pooling", set_pooling,
                                       "The mean of all tokens' states (default), or the last "
                                       "token's")
      ->option_text("mean|last");
  const auto set_layer = [&](const std::string& text) {
    if (read_number(text, settings.embed.layer.emplace())) return;
    throw UsageError("--layer", "expected a whole number, found '" + text + "'");
  };
  app.add_option_function<std::string>("--layer", set_layer,
                                       "The layer whose states are taken (default: the last)")
      ->option_text("N");
  add_switch(app, "--jsonl", settings.jsonl,
             "Each line is a JSON object with \"text\" or \"token_ids\"");
  add_switch(app, "--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  add_file(app, "--npy", settings.npy, "Write the vectors to FILE as a NumPy array");
  parse(app, std::move(arguments));
  return settings;
}

class Embedder {
 public:
  Embedder(const Settings& settings, const std::filesystem::path& path)
      : settings_(settings),
        engine_(load_model(path, settings.dtype),
                {.threads = settings.threads, .kv_type = settings.kv_type}) {
    const std::size_t last = engine_.model().config().n_layer;
    if (settings.embed.layer.value_or(last) > last) {
      throw UsageError("--layer", format("expected a whole number from 0 to %zu, the last layer, "
                                         "found %zu",
                                         last, *settings.embed.layer));
    }
    if (!settings.tokens) tokenizer_ = load_tokenizer(path);
  }

  void write_json() const;
  void write_array(NpyWriter& writer) const;

 private:
  using Text = std::vector<TokenId>;

  // Throws Error if the line has no vector.
  [[nodiscard]] Text read(const std::string& line) const;
  [[nodiscard]] static std::size_t size_of(const Text& text) { return text.size(); }

  const Settings& settings_;
  Engine engine_;
  std::optional<Tokenizer> tokenizer_;
};

Embedder::Text Embedder::read(const std::string& line) const {
  const Config& config = engine_.model().config();
  const TokenReader reader = {tokenizer_, config.vocab_size};
  Text text = settings_.jsonl ? reader.read_record(line) : reader.read(line);
  if (!text.empty() && text.size() <= config.n_positions) return text;
  refuse(format("expected a text of 1 to %zu tokens, found %zu", config.n_positions, text.size()));
}

void Embedder::write_json() const {
  const auto answer = [&](std::span<const Text> texts) {
    std::vector<Json> records;
    const std::vector<std::vector<float>> vectors = gpt2::embed(engine_, texts, settings_.embed);
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

void Embedder::write_array(NpyWriter& writer) const {
  const auto take = [&](const LineGroup<Text>& group) {
    for (std::size_t i = 0; i < group.errors.size(); ++i) {
      if (!group.errors[i]) continue;
      refuse(shown_input(settings_.file) + ": " + about_line(group.first + i, *group.errors[i]));
    }
    writer.append(gpt2::embed(engine_, group.items, settings_.embed));
  };
  read_lines<Text>(
      settings_.file, "embedding " + shown_input(settings_.file),
      [&](const std::string& line) { return read(line); }, size_of, take);
  writer.finish(engine_.model().config().n_embd);
}

}  // namespace

int embed(Arguments arguments) {
  const Settings settings = read_settings(std::move(arguments));
  // Throws now, before the long work, if the file cannot be written.
  std::optional<NpyWriter> writer;
  if (!settings.npy.empty()) writer.emplace(settings.npy);
  const std::filesystem::path path = model_path(settings.model);
  Progress loading("loading " + path.string());
  const Embedder embedder(settings, path);
  loading.done();
  if (writer) {
    embedder.write_array(*writer);
  } else {
    embedder.write_json();
  }
  return 0;
}

}  // namespace gpt2::cli
