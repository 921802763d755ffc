#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

#include "gpt2/beam_search.h"
#include "gpt2/sampler.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// The settings with which HuggingFace's generate() would write if it were called without options:
/// those of the model's generation_config.json and, for keys that the file does not have, the
/// defaults of HuggingFace's library (GenerationConfig, transformers 4). An option that is null has
/// no effect on the text. The names are HuggingFace's. _from_model_config is ignored: if it is
/// true, some versions of transformers 4 prefer the keys of config.json.
///
/// A plain value: copies are independent, and threads may read one at the same time.
///
/// Example:
///   const auto config = GenerationConfig::load("models/gpt2-stories");
///   GenerationOptions options;
///   options.sampling = config.sampling;
///   options.max_new_tokens = config.max_new_tokens.value_or(config.max_length);
struct GenerationConfig {
  bool do_sample = false;  ///< draw tokens; otherwise always take the most probable one

  /// How tokens are chosen, ready for GenerationOptions::sampling. The temperature is 0 if
  /// do_sample is false. Numbers are in the ranges of option_fields.h. Token ids may still be
  /// outside the model's vocabulary; a Sampler refuses them.
  SamplingOptions sampling = {.temperature = 0.0f, .top_k = 50};

  /// For BeamSearchOptions::beams. There is a beam search if num_beams is more than 1; without one,
  /// the other members have no effect.
  BeamOptions beams = {};

  /// Without a beam search: how many texts are drawn from one prompt, up to kMaxSamples.
  std::size_t num_return_sequences = 1;
  static constexpr std::size_t kMaxSamples = 1 << 20;  ///< see num_return_sequences

  // Both are at most kMaxOptionTokens. A larger number in a file becomes this number.
  std::size_t max_length = 20;                ///< in tokens, including the prompt
  std::optional<std::size_t> max_new_tokens;  ///< if given, max_length is not used

  /// Reads generation_config.json in the directory `path` or, if `path` is a file, in its
  /// directory. If there is none, reads config.json in the same directory, because older models
  /// keep the same keys there. Ignores keys that do not change the text.
  ///
  /// Throws Error, which names the file and the key: not_found if there is neither file;
  /// unsupported for a key that would change the text and is not implemented; invalid_file for a
  /// value of the wrong type or out of range.
  [[nodiscard]] static GenerationConfig load(const std::filesystem::path& path);

  /// Parses the text of such a file. Error messages name `where` instead of a file. Reads no file.
  [[nodiscard]] static GenerationConfig parse(std::string_view json, std::string_view where);
};

}  // namespace gnu::visibility("default")]]gpt2
