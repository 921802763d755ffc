#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpt2/generation_config.h"
#include "gpt2/sampling_options.h"
#include "support/golden.h"

namespace gpt2::test {

/// Returns the goldens `name` (such as greedy.json) of tests/data/oracle/decoding and, if it
/// is set, of $GPT2_GOLDENS_DIR/decoding.
[[nodiscard]] std::vector<Golden> decoding_goldens(const std::string& name);

/// Returns the directory of the checkpoint that a golden names, such as oracle/cases/untied: below
/// tests/data or, if it is set, $GPT2_GOLDENS_MODELS. Returns nothing if there is none.
[[nodiscard]] std::optional<std::filesystem::path> checkpoint_of(const Golden& golden,
                                                                 const std::string& model);

/// Reads the options of HuggingFace's generate(), as a golden has them, like a
/// generation_config.json: top_k is 50 if it is not named. Ignores num_beams
/// with do_sample.
[[nodiscard]] GenerationConfig config_of(nlohmann::json options);

/// Reads an eos_token_id: null, a number or a list.
[[nodiscard]] std::vector<TokenId> eos_of(const nlohmann::json& value);

/// Returns row `index` of a matrix that lies in one piece.
[[nodiscard]] std::span<const float> row_of(const std::vector<float>& matrix, std::size_t width,
                                            std::size_t index);

/// Returns the ids of the scores that are not -infinity.
[[nodiscard]] std::vector<std::size_t> kept(std::span<const float> scores);

/// Returns what is wrong with the scores, or "": -infinity must stand at the same places, and the
/// other scores must differ by at most `tolerance`, those beyond 1e30 by as little relatively.
/// Ignores the scores of `ignored`.
[[nodiscard]] std::string difference(std::span<const float> actual, std::span<const float> expected,
                                     double tolerance, const std::vector<TokenId>& ignored = {});

}  // namespace gpt2::test
