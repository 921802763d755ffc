#include "cli/model.h"

#include <algorithm>
#include <vector>

#include "base/file_source.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/names.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/lines.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "gpt2/session.h"

namespace gpt2::cli {
namespace {

constexpr const char* kModelForms = "a directory, a file or a name";

}  // namespace

void ModelSettings::find() {
  path = find_model(name);
  places = find_places(path, base);
  if (!tokenizer.empty()) places.tokenizer = find_model(tokenizer);
}

Option& add_model_option(Options& options, std::string& name) {
  return options.add_file("-m,--model", name,
                          "A directory, a file in it, or a name (default: the bundled model)",
                          "MODEL", kModelForms);
}

void add_base_option(Options& options, std::string& base) {
  options.add_file("--base", base,
                   "The base of a LoRA adapter (default: the model that the adapter names)",
                   "MODEL", kModelForms);
}

void add_tokenizer_option(Options& options, std::string& name) {
  options.add_file("--tokenizer", name,
                   "Take the tokenizer of this directory or model (default: the model's own)",
                   "DIR|NAME", kModelForms);
}

Option& add_dtype_option(Options& options, WeightType& dtype) {
  return options.add("--dtype", words_of(WeightType::f32),
                     "Convert the weights to this type (default: as stored)",
                     [&dtype](const std::string& text) { dtype = parse_dtype(text); });
}

void add_engine_options(Options& options, EngineOptions& engine) {
  options.add_choice("--kv", words_of<KVType>(),
                     "Hold keys and values as f32 or f16; auto (default): f16 for weights of int8 "
                     "and int4, otherwise f32",
                     [&engine](const std::string& name) {
                       engine.kv_type = kv_type_named(name).value_or(KVType::automatic);
                     });
  options.add_number("-t,--threads", engine.threads, {0, EngineOptions::kMaxThreads},
                     "Number of threads, which never changes a result; 0: one per core, but fewer "
                     "for small models");
}

void add_model_options(Options& options, ModelSettings& settings) {
  add_model_option(options, settings.name);
  add_base_option(options, settings.base);
  add_tokenizer_option(options, settings.tokenizer);
  add_dtype_option(options, settings.dtype);
  add_engine_options(options, settings.engine);
  add_quiet_option(options);
}

void add_quiet_option(Options& options) {
  options.add("--quiet", "", "Show no progress on standard error",
              [](const std::string&) { silence_progress(); });
}

void add_draft_option(Options& options, std::string& draft, const std::string& of_auto) {
  options.add_text(
      "--draft", "auto|off|int8|int4|prompt|MODEL", draft,
      "Write faster, with the same text: a copy of the model in int8 or int4, or "
      "another MODEL, or the text so far (prompt), drafts tokens, and the model checks "
      "several at once. MODEL is a copy that gpt2 quantize wrote, or a smaller model "
      "of the same vocabulary. auto (default) " +
          of_auto);
}

WeightType parse_dtype(const std::string& text) {
  const auto type = weight_type_named(text).value_or(WeightType::stored);
  if (type != WeightType::stored) return type;
  throw UsageError("--dtype",
                   concat("expected ", listed_names(WeightType::f32), ", found '", text, "'"));
}

Model load_as(const std::filesystem::path& path, const LoadOptions& options) {
  try {
    Model model = Model::load(path, options);
    for (const std::string& warning : model.description().warnings) print_error(warning);
    return model;
  } catch (const Error& error) {
    const bool is_conversion = options.dtype != WeightType::stored;
    if (!is_conversion || error.code() != ErrorCode::invalid_argument) throw;
    throw UsageError("--dtype", error.what());
  }
}

Model load_model(const ModelSettings& settings) {
  Progress shown("loading " + settings.path.string());
  const auto progress = [&](double share) {
    end_if_interrupted();
    shown.part(share);
  };
  return load_as(settings.path, {.dtype = settings.dtype,
                                 .use_mmap = settings.use_mmap,
                                 .base = settings.base,
                                 .progress = progress});
}

Models load_models(const ModelSettings& settings) {
  const std::string& draft = settings.draft;
  if (draft == "auto" || draft == "off" || draft == "prompt") {
    return {load_model(settings), std::nullopt};
  }
  const auto type = weight_type_named(draft);
  if (draft.empty() || (type && *type != WeightType::int8 && *type != WeightType::int4)) {
    throw UsageError("--draft",
                     "expected auto, off, int8, int4, prompt or a model, found '" + draft + "'");
  }
  if (type) {
    const Progress shown("loading " + settings.path.string());
    const Model stored = load_as(settings.path, {.base = settings.base});
    return {stored.to(settings.dtype), stored.to(*type)};
  }
  Models models = {load_model(settings), Model::load(find_model(draft))};
  const std::size_t tokens = models.model.config().vocab_size;
  const std::size_t of_draft = models.draft->config().vocab_size;
  if (of_draft == tokens) return models;
  throw UsageError("--draft",
                   concat("expected a model with the vocabulary of the one that writes, which has ",
                          tokens, " tokens, found one with ", of_draft));
}

std::size_t draft_bytes(const Model& model) noexcept { return model.parameter_count() * 9 / 16; }

Tokenizer load_tokenizer(const ModelSettings& settings, bool takes_tokens) {
  try {
    return Tokenizer::load(settings.places.tokenizer);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found || !settings.tokenizer.empty()) throw;
    throw Error(error.code(),
                concat(error.what(), "; or give --tokenizer and the directory that has one",
                       takes_tokens ? ", or --tokens and token ids, which need none" : ""));
  }
}

std::optional<Tokenizer> find_tokenizer(const ModelSettings& settings, const char* consequence) {
  try {
    return load_tokenizer(settings, /*takes_tokens=*/false);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found || !settings.tokenizer.empty()) throw;
    print_error(concat(error.what(), "; without one, ", consequence));
    return std::nullopt;
  }
}

std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                            const EncodeOptions& options) {
  EncodedText encoded = tokenizer.encode_text(text, options);
  note_lost_bytes(encoded.lost_bytes, text.size());
  return std::move(encoded.ids);
}

std::uint64_t hash_of_model(const Engine& engine, const std::optional<Tokenizer>& tokenizer) {
  const Config& config = engine.model().config();
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < std::min<std::size_t>(8, config.n_positions); ++i) {
    ids.push_back(static_cast<TokenId>(i % config.vocab_size));
  }
  Session session(engine, {.max_tokens = ids.size()});
  const std::span<const float> logits = session.forward(ids);
  std::uint64_t hash = hash_bytes(config.to_json());
  hash = hash_bytes({reinterpret_cast<const char*>(logits.data()), logits.size_bytes()}, hash);
  for (std::size_t id = 0; tokenizer && id < tokenizer->size(); ++id) {
    const auto bytes = tokenizer->bytes(static_cast<TokenId>(id));
    hash = hash_bytes(bytes, hash_bytes(std::to_string(bytes.size()), hash));
  }
  return hash;
}

ChatForm chat_form_of(const std::filesystem::path& config) {
  constexpr std::size_t kMaxBytes = 16 << 20;
  const auto file = directory_of(config) / "config.json";
  if (!is_there(file)) return ChatForm::transcript;
  const auto read = parse_json(read_file(file, kMaxBytes), file.string());
  const auto tasks = read.root.find("task_specific_params");
  const bool is_dialog =
      tasks != read.root.end() && tasks->is_object() && tasks->contains("conversational");
  return is_dialog ? ChatForm::dialog : ChatForm::transcript;
}

std::string join(std::span<const TokenId> tokens) {
  std::string line;
  for (const TokenId token : tokens) line += (line.empty() ? "" : " ") + std::to_string(token);
  return line;
}

}  // namespace gpt2::cli
