#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gpt2::cli {

using Json = nlohmann::ordered_json;

/// Formats one element of "measurements" in the JSON of gpt2 bench as a line of text.
[[nodiscard]] std::string bench_row(const Json& row);

/// Formats the closing line, which counts the disturbed rows. Returns "" if no row was disturbed.
[[nodiscard]] std::string bench_conclusion(const Json& all);

}  // namespace gpt2::cli
