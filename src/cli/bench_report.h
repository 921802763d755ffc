#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gpt2::cli {

using Json = nlohmann::ordered_json;

/// What gpt2 bench --json says, as text. A row of "measurements":
[[nodiscard]] std::string bench_row(const Json& row);

/// The last line, or "" if no row was disturbed.
[[nodiscard]] std::string bench_conclusion(const Json& all);

}  // namespace gpt2::cli
