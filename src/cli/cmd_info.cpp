#include <cstdio>
#include <map>
#include <sstream>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/find_model.h"
#include "formats/checkpoint.h"
#include "gpt2/error.h"
#include "gpt2/model.h"
#include "gpt2/runtime.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  gpt2 info
  gpt2 info -m openai-community/gpt2)";

std::string row(const std::string& name, const std::string& value) {
  std::string padded = name;
  padded.resize(13, ' ');
  return padded + value + '\n';
}

std::string size(std::size_t bytes) {
  char text[32];
  if (bytes < 1'000'000) {
    std::snprintf(text, sizeof text, "%.1f kB", static_cast<double>(bytes) * 1e-3);
  } else {
    std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) * 1e-6);
  }
  return text;
}

std::string describe(const Config& config) {
  std::ostringstream text;
  text << "n_layer " << config.n_layer << ", n_head " << config.n_head << ", n_embd "
       << config.n_embd << ", n_inner " << config.inner_dim() << ", n_positions "
       << config.n_positions << ", vocab_size " << config.vocab_size << ", "
       << name_of(config.activation_function) << ", layer_norm_epsilon "
       << config.layer_norm_epsilon << (config.tie_word_embeddings ? ", tied" : ", untied")
       << " lm_head";
  if (!config.scale_attn_weights) text << ", unscaled attention";
  if (config.scale_attn_by_inverse_layer_idx) text << ", attention scaled by inverse layer index";
  return text.str();
}

std::string describe(const Checkpoint& checkpoint) {
  std::map<std::string_view, std::size_t> types;
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    ++types[name_of(tensor.dtype)];
    bytes += tensor.bytes;
  }
  std::string text = checkpoint.files().front().string() + ", " + checkpoint.format() + ", " +
                     size(bytes) + ", tensors:";
  for (const auto& [type, count] : types) {
    text += ' ' + std::to_string(count) + ' ' + std::string(type);
  }
  return text;
}

// A checkpoint without a tokenizer is still worth a look.
std::string describe_tokenizer(const std::filesystem::path& directory) {
  try {
    return Tokenizer::load(directory).description();
  } catch (const Error& error) {
    return std::string("none: ") + error.what();
  }
}

std::string describe_isa() {
  std::string text(isa_name());
  std::string others;
  for (const std::string& isa : available_isas()) {
    if (isa != text) others += (others.empty() ? " (also available: " : ", ") + isa;
  }
  return others.empty() ? text : text + others + ")";
}

// What a session needs beside the mapped weights.
std::string describe_memory(const Model& model) {
  const Config& config = model.config();
  const std::size_t cache = 2 * config.n_layer * config.n_embd * config.n_positions * sizeof(float);
  return size(model.bytes_per_token()) + " of weights read for each token, " + size(cache) +
         " of keys and values for " + std::to_string(config.n_positions) + " tokens";
}

}  // namespace

int info(Arguments arguments) {
  std::string name = GPT2_BUNDLED_MODEL;
  WeightType dtype = WeightType::stored;
  CLI::App app("Tells what a model is made of\n", "gpt2 info");
  app.footer(kExamples);
  add_model_option(app, name);
  add_dtype_option(app, dtype);
  if (!parse(app, std::move(arguments))) return 0;

  const ModelPath path = find_model(name);
  Progress loading("loading " + path.weights.string());
  const Model model = Model::load(path.weights, {.dtype = dtype});
  loading.done();
  write_stdout(row("model", path.directory.string()) +
               row("weights", describe(Checkpoint::open(path.weights))) +
               row("config", describe(model.config())) +
               row("parameters", std::to_string(model.parameter_count())) +
               row("memory", describe_memory(model)) +
               row("tokenizer", describe_tokenizer(path.directory)) + row("isa", describe_isa()) +
               row("threads", std::to_string(thread_count())));
  return 0;
}

}  // namespace gpt2::cli
