#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

#include "gpt2/beam_options.h"
#include "gpt2/sampling_options.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// How HuggingFace's generate() would write with a model if it were called without options: the
/// model's generation_config.json, with the library's defaults (GenerationConfig, transformers 4)
/// for what the file does not say. The names are HuggingFace's.
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

  /// How tokens are chosen, ready for GenerationOptions::sampling. The temperature is 0 without
  /// do_sample, and if the file's is too small for a Sampler. Token ids may still be outside the
  /// model's vocabulary, which a Sampler refuses.
  SamplingOptions sampling = {.temperature = 0.0f, .top_k = 50};

  /// For BeamSearchOptions::beams. There is a beam search if num_beams is more than 1; without one,
  /// the other members have no effect.
  BeamOptions beams = {};

  /// Without a beam search: how many texts are drawn from one prompt, up to kMaxSamples.
  std::size_t num_return_sequences = 1;
  static constexpr std::size_t kMaxSamples = 1 << 20;  ///< see num_return_sequences

  std::size_t max_length = 20;                ///< in tokens, those of the prompt included
  std::optional<std::size_t> max_new_tokens;  ///< if given, max_length is not used

  /// Reads generation_config.json of the directory `path`, or of the file `path`'s directory. If
  /// there is none, reads its config.json, where older models have the same keys. Other keys that
  /// do not change the text are ignored.
  ///
  /// Throws Error, which names the file and the key: not_found if there is neither file;
  /// unsupported for a key that would change the text and is not implemented; invalid_file for a
  /// value of the wrong type or out of range.
  [[nodiscard]] static GenerationConfig load(const std::filesystem::path& path);

  /// The same from the text of such a file. `where` takes the place of the file's name in messages.
  /// Reads no file.
  [[nodiscard]] static GenerationConfig parse(std::string_view json, std::string_view where);
};

}  // namespace gpt2
