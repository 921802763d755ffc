#include "gpt2/embed.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "cli/options/request_options.h"
#include "requests/answer/numbers.h"
#include "requests/read/text_requests.h"

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
  nlohmann::json request = nlohmann::json::object();  // the options of the request
};

EmbedSettings read_embed_settings(const Arguments& arguments) {
  EmbedSettings settings;
  Options options("gpt2 embed", "Turns texts into vectors", kEmbedDetails);
  options.add_file("FILE", settings.file, "The texts, one a line; -: standard input");
  add_model_options(options, settings.model);
  options.add_choice("--pooling", "mean|last",
                     "The mean of all tokens' states (default), or the last token's",
                     [&settings](const std::string& name) { settings.request["pooling"] = name; });
  add_number_member(options, "--layer", settings.request,
                    "The layer whose states are taken (default: the last)");
  options.add_switch("--jsonl", settings.jsonl,
                     "Each line is a JSON object with \"text\" or \"token_ids\"");
  options.add_switch("--tokens", settings.tokens, "Read token ids; needs no tokenizer");
  options.parse(arguments);
  return settings;
}

bool have_same_options(const EmbeddingRequest& a, const EmbeddingRequest& b) {
  return a.options.pooling == b.options.pooling && a.options.layer == b.options.layer;
}

std::vector<Json> records_of(const Engine& engine, const std::vector<EmbeddingRequest>& requests) {
  std::vector<std::vector<TokenId>> texts;
  for (const EmbeddingRequest& request : requests) texts.push_back(request.inputs[0]);
  std::vector<Json> records;
  for (const auto& vector : gpt2::embed(engine, texts, requests[0].options)) {
    const std::size_t tokens = texts[records.size()].size();
    records.push_back(Json{{"tokens", tokens}, {"embedding", vector_json(vector, false)}});
  }
  return records;
}

}  // namespace

int embed(const Arguments& arguments) {
  EmbedSettings settings = read_embed_settings(arguments);
  settings.model.find();
  const Engine engine(load_model(settings.model), settings.model.engine);
  std::optional<Tokenizer> tokenizer;
  if (!settings.tokens) tokenizer = load_tokenizer(settings.model);
  const RequestContext context = {tokenizer, engine.model().config(), settings.request};
  // A mistake in an option is found before the lines are read.
  read_arguments(settings.request, [&] {
    return read_embedding_request({{"text", {0}}}, context);
  });
  const auto read = [&](const std::string& line) {
    return read_embedding_request(request_of(line, settings.jsonl, context), context);
  };
  const auto answer = [&](const auto& group) { return records_of(engine, group); };
  answer_lines(settings.file, "embedding", read, have_same_options, answer);
  return 0;
}

}  // namespace gpt2::cli
