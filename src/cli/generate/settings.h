#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/model.h"
#include "cli/options/options.h"

namespace gpt2::cli {

/// The settings from the arguments of `gpt2 generate`.
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

}  // namespace gpt2::cli
