#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gpt2::cli {

using Json = nlohmann::ordered_json;

/// Returns the lines above the rows of one weight type: the type, an element of "limits" in the
/// JSON, and the titles of the columns.
[[nodiscard]] std::string bench_heading(const Json& limits, const std::string& kv_type);

/// Formats one element of "measurements" in the JSON of gpt2 bench as a line of text, of at most 80
/// columns: the workload, its median speed, the slowest and the fastest, what was read or computed
/// in a second, and the share of the machine's limit. A star marks a row that is disturbed.
[[nodiscard]] std::string bench_row(const Json& row);

/// Formats one element of "walks" as a line: the shape, the walk and its gain.
[[nodiscard]] std::string bench_walk(const Json& row);

/// Returns the closing paragraph, in one line. It counts the disturbed rows and says what disturbed
/// them and what to do about it. Returns "" if no row was disturbed.
[[nodiscard]] std::string bench_conclusion(const Json& all);

}  // namespace gpt2::cli
