#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/model.h"
#include "cli/options/options.h"
#include "gpt2/generate.h"
#include "gpt2/session.h"
#include "requests/read/completion_request.h"

namespace gpt2::cli {

struct GenerateSettings {
  ModelSettings model;
  std::optional<std::string> prompt;
  std::string prompt_file;  ///< the file with the prompt, if it is not given; "-": stdin
  std::string state;        ///< the file from which the state of a session is read; "": none
  std::string save_state;   ///< the file to which it is written; "": none
  bool tokens = false;      ///< prompts and texts are token ids
  bool talks = false;       ///< --interactive: reads and continues one line after another
  bool dialog = false;      ///< each line is a turn and ends with the end-of-text token
  bool as_json = false;
  bool no_echo = false;
  bool no_newline = false;
  bool stats = false;

  /// Whether the text has a session that is kept, and so is one text.
  [[nodiscard]] bool has_session() const { return talks || !state.empty() || !save_state.empty(); }

  /// The request, without its prompt, and the defaults of its members, in the names of the table.
  nlohmann::json request = nlohmann::json::object();
  nlohmann::json defaults = nlohmann::json::object();
};

/// Reads the arguments of `gpt2 generate`. Throws what Options::parse(), find_model() and, with
/// --hf-defaults, GenerationConfig::load() throw.
[[nodiscard]] GenerateSettings read_generate_settings(const Arguments& arguments);

/// Writes the texts of the request, which continue `prompt`, to standard output, in order: one text
/// in `session` or, without one, all samples side by side, or the sequences of a beam search. Then
/// says whether the context is full, and prints the lines of --stats. Calls `on_token` for each new
/// token. Ctrl-C ends all texts. Returns the result of the last one.
GenerationResult write_texts(const Engine& engine, Session* session,
                             const std::optional<Tokenizer>& tokenizer,
                             const GenerateSettings& settings, CompletionRequest request,
                             const std::string& prompt, const std::function<void()>& on_token);

/// Throws Error unless the state of a session can be written to the file.
void check_state_file(const std::filesystem::path& file);

/// Throws Error if check_state_file() or save_session() throws it.
void save_state(const Session& session, const std::filesystem::path& file);

/// What drafts the tokens of a talk.
struct TalkDraft {
  std::optional<Model> model;
  std::shared_future<Model> pending;  ///< as in GenerationOptions
};

/// `gpt2 --interactive`: reads line after line from standard input and continues the session's text
/// after each of them, until the input ends. `line`, if any, is the first one.
///
/// On a terminal, an error is printed and the next line is read. Otherwise it is thrown, and the
/// message has the number of the line.
void talk(const GenerateSettings& settings, const Tokenizer& tokenizer, Session session,
          const TalkDraft& draft, std::optional<std::string> line);

}  // namespace gpt2::cli
