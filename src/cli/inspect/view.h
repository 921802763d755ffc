#pragma once

#include <string>

#include "cli/inspect/report.h"

namespace gpt2::cli {

/// Returns the summary that `gpt2 inspect` prints: the tokens by surprise, the LayerNorms by layer,
/// and the predictions by layer. It is as wide as the terminal. Only a terminal gets colours and
/// sparklines.
[[nodiscard]] std::string view_of(const Report& report);

}  // namespace gpt2::cli
