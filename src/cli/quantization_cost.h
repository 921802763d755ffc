#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "gpt2/model.h"

namespace gpt2::cli {

/// Lines that tell what packing a model's weights costs: their size, the perplexity on `text` (or on a
/// short story of the engine's own, where it is empty) and the largest change of a logit. Without a
/// tokenizer in `directory`, only the size.
[[nodiscard]] std::string quantization_cost(const Model& before, const Model& after,
                                            const std::filesystem::path& directory,
                                            std::string_view text);

}  // namespace gpt2::cli
