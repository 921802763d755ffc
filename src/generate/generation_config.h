#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

namespace gpt2 {

/// What HuggingFace's generate() would do with a model: its generation_config.json, with the
/// library's defaults (GenerationConfig).
struct GenerationConfig {
  bool do_sample = false;
  float temperature = 1.0f;  ///< 0 stands for one that is too small for a Sampler
  std::size_t top_k = 50;
  float top_p = 1.0f;
  std::size_t max_length = 20;                ///< in tokens, those of the prompt included
  std::optional<std::size_t> max_new_tokens;  ///< if given, max_length is not used

  /// Reads the directory's generation_config.json or, if there is none, its config.json, where
  /// older models have these keys. Throws Error: unsupported, with the name, for a key that would
  /// change the text and is not implemented; invalid_file for a value of the wrong type or out of
  /// range.
  [[nodiscard]] static GenerationConfig load(const std::filesystem::path& directory);

  /// The same from the file's text; `where` names it in messages.
  [[nodiscard]] static GenerationConfig parse(std::string_view json, std::string_view where);
};

}  // namespace gpt2
