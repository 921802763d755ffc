#pragma once

#include <optional>
#include <string>

#include "cli/model.h"
#include "cli/options/options.h"
#include "cli/options/writing.h"
#include "gpt2/beam_search.h"

namespace gpt2::cli {

/// The settings from the arguments of `gpt2 generate`.
struct GenerateSettings {
  ModelSettings model;
  std::optional<std::string> prompt;
  std::string prompt_file;  ///< the file with the prompt, if it is not given; "-": stdin
  std::string state;        ///< the file from which the state of a session is read; "": none
  std::string save_state;   ///< the file to which it is written; "": none
  bool talks = false;       ///< --interactive: reads and continues one line after another
  bool dialog = false;      ///< each line is a turn and ends with the end-of-text token
  bool as_json = false;
  bool no_echo = false;
  bool no_newline = false;
  bool stats = false;
  BeamOptions beams = {};  ///< a beam search if there is more than one beam
  Writing writing;
};

/// Reads the arguments of `gpt2 generate`. Throws what Options::parse(), find_model() and, with
/// --hf-defaults, GenerationConfig::load() throw.
[[nodiscard]] GenerateSettings read_generate_settings(const Arguments& arguments);

}  // namespace gpt2::cli
