#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "gpt2/engine.h"
#include "gpt2/model.h"
#include "gpt2/model_files.h"
#include "gpt2/tokenizer.h"
#include "requests/read/completion_request.h"

// The options of the commands that say which model is used and how, the loading of that model, and
// token ids.

namespace gpt2::cli {

/// The model and how it computes.
struct ModelSettings {
  std::string name = GPT2_BUNDLED_MODEL;
  std::string base = {};            ///< of an adapter; empty: the one that it names
  std::filesystem::path path = {};  ///< set by find()
  ModelPlaces places = {};          ///< set by find(), to that of `tokenizer` if it is given
  std::string tokenizer = {};       ///< the name of a model or directory; "": that of the model
  WeightType dtype = WeightType::stored;
  bool use_mmap = true;
  EngineOptions engine = {};
  std::string draft = "auto";  ///< "auto", "off", "int8", "int4", "prompt", or a model's name

  /// Sets `path` to what find_model() returns, and `places` to what find_places() returns.
  void find();

  /// Whether tokens are also drafted from the text so far.
  [[nodiscard]] bool looks_up() const { return draft != "off"; }
};

Option& add_model_option(Options& options, std::string& name);

void add_base_option(Options& options, std::string& base);

void add_tokenizer_option(Options& options, std::string& name);

Option& add_dtype_option(Options& options, WeightType& dtype);

/// Adds --kv and -t, --threads.
void add_engine_options(Options& options, EngineOptions& engine);

/// Adds --quiet, after which Progress shows nothing.
void add_quiet_option(Options& options);

/// Adds --model, --base, --tokenizer, --dtype, --kv, --threads and --quiet.
void add_model_options(Options& options, ModelSettings& settings);

/// Adds --draft, which says in `draft` what drafts tokens. `of_auto` says what auto does.
void add_draft_option(Options& options, std::string& draft, const std::string& of_auto);

/// Parses the name of a weight type other than `stored`. Throws UsageError for any other text.
[[nodiscard]] WeightType parse_dtype(const std::string& text);

/// Model::load for the type of --dtype. Prints the warnings of the model on standard error. Throws
/// UsageError if the model cannot be converted to the type.
[[nodiscard]] Model load_as(const std::filesystem::path& path, const LoadOptions& options);

/// Calls load_as() for the model, and shows the progress. REQUIRES: settings.find() has been
/// called.
[[nodiscard]] Model load_model(const ModelSettings& settings);

/// The model that writes, and the one that drafts if --draft names one.
struct Models {
  Model model;
  std::optional<Model> draft;
};

/// Loads them. A copy is made from the same files, which are read once. Throws UsageError for a
/// draft of another vocabulary. REQUIRES: settings.find() has been called.
[[nodiscard]] Models load_models(const ModelSettings& settings);

/// Returns the size of an int4 copy of the model in bytes.
[[nodiscard]] std::size_t draft_bytes(const Model& model) noexcept;

/// Loads the tokenizer. If the model has none, the error message also suggests --tokens, provided
/// that the command `takes_tokens`, and --tokenizer. REQUIRES: settings.find() has been called.
[[nodiscard]] Tokenizer load_tokenizer(const ModelSettings& settings, bool takes_tokens = true);

/// The same for commands that need none: if the model has none, says so on standard error, with
/// what follows from it, and returns nothing.
[[nodiscard]] std::optional<Tokenizer> find_tokenizer(
    const ModelSettings& settings, const char* consequence = "requests need token ids");

/// Returns the token ids of a text. Calls note_lost_bytes().
[[nodiscard]] std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                                          const EncodeOptions& options = {});

/// Returns a hash of the model's config, its logits and the bytes of its tokens. The logits of a
/// short pass depend on every matrix and on the weight type, and have the same bits on every
/// machine.
[[nodiscard]] std::uint64_t hash_of_model(const Engine& engine,
                                          const std::optional<Tokenizer>& tokenizer);

/// Returns the form of chats for which HuggingFace's config says that a model was trained.
/// `config` is the file with the config, or lies beside it.
[[nodiscard]] ChatForm chat_form_of(const std::filesystem::path& config);

/// Formats token ids as text that parse_tokens() reads: "15496 995".
[[nodiscard]] std::string join(std::span<const TokenId> tokens);

}  // namespace gpt2::cli
