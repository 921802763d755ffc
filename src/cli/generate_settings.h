#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/session_state.h"
#include "gpt2/beam_search.h"
#include "gpt2/generate.h"

namespace gpt2::cli {

/// The settings from the arguments of `gpt2 generate`.
struct GenerateSettings {
  std::set<std::string> given;  ///< the options of the command line, by their long names
  std::filesystem::path model;
  WeightType dtype = WeightType::stored;
  KVType kv_type = KVType::automatic;
  std::string draft = "auto";  ///< "auto", "off", "int8", "int4", "prompt", or a model's name
  std::optional<std::string> prompt;
  std::string prompt_file;  ///< the file with the prompt, if it is not given; "-": stdin
  bool truncate = false;
  StateFiles state;
  bool talks = false;   ///< --interactive: reads and continues one line after another
  bool dialog = false;  ///< each line is a turn and ends with the end-of-text token
  int threads = 0;
  bool tokens = false;
  std::vector<std::string> bad_words;  ///< texts; converted to ids once the tokenizer is loaded
  bool as_json = false;
  bool no_echo = false;
  bool no_newline = false;
  bool stats = false;
  std::size_t samples = 1;  ///< how many texts to write
  bool draws_seed = false;                ///< whether generation.sampling.seed was drawn at random
  std::optional<std::size_t> max_length;  ///< replaces max_new_tokens; includes the prompt
  BeamOptions beams = {};                 ///< a beam search if there is more than one beam
  GenerationOptions generation = {.sampling = {.temperature = 0.8f, .top_k = 40}};
};

/// Reads the arguments of `gpt2 generate`. Calls `check` with the PROMPT, unless a -- precedes it.
/// Throws what parse(), find_model() and, with --hf-defaults, GenerationConfig::load() throw.
[[nodiscard]] GenerateSettings read_generate_settings(Arguments arguments,
                                                      void (*check)(const std::string& prompt));

}  // namespace gpt2::cli
