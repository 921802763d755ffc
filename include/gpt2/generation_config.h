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
/// defaults of HuggingFace's library (transformers 5). A key that is null counts as absent. The
/// names are HuggingFace's.
///
/// A plain value: copies are independent, and threads may read one at the same time.
///
/// Example:
///   const auto config = GenerationConfig::load("models/gpt2-stories");
///   GenerationOptions options;
///   options.sampling = config.sampling;
///   if (config.max_new_tokens) options.max_new_tokens = *config.max_new_tokens;
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

  // The length of a text, in tokens: it ends when it reaches either of them. If the file has both,
  // max_length is not used. If it has neither, max_new_tokens is 20, and load() sets max_length to
  // the model's n_positions. Numbers above kMaxOptionTokens become kMaxOptionTokens.
  std::optional<std::size_t> max_new_tokens = 20;
  std::optional<std::size_t> max_length;  ///< including the prompt

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
