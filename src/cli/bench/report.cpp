#include "cli/bench/report.h"

#include <nlohmann/json.hpp>

#include "cli/terminal/console.h"

namespace gpt2::cli {

std::string bench_row(const Json& row) {
  const auto text = [&](const char* name) { return row[name].get<std::string>(); };
  const std::string begin = format("  %-30s ", text("workload").c_str());
  if (row.contains("skipped")) return begin + "skipped: " + text("skipped") + '\n';
  const auto number = [&](const char* name) { return row[name].get<double>(); };
  const std::string limit = text("limit");
  std::string line = begin + format("%8.1f tokens/s (%.1f .. %.1f), ", number("tokens_per_s"),
                                    number("min"), number("max"));
  if (limit == "memory") {
    line += format("%.1f GB/s", 1e-9 * number("bytes_per_s"));
  } else {
    line += format("%.0f GFLOP/s", 1e-9 * number("flop_per_s"));
    const double int8 = number("int8_op_per_s");
    if (int8 > 0.0) line += format(" and %.0f GOP/s in int8", 1e-9 * int8);
  }
  line += row["of_limit"].is_null()
              ? ", more than the measured " + limit + " limit"
              : format(", %.1f %% of the %s limit", 100.0 * number("of_limit"), limit.c_str());
  if (number("disturbed") > 0) {
    const double busy = 100.0 * number("busy");
    line += busy < 1.0 ? "; disturbed: the machine's speed changed"
                       : format("; disturbed: other programs took %.0f %% of the CPU time", busy);
  }
  return line + '\n';
}

std::string bench_conclusion(const Json& all) {
  std::size_t rows = 0;
  std::size_t disturbed = 0;
  for (const Json& row : all["measurements"]) {
    rows += row.contains("disturbed");
    disturbed += row.value("disturbed", 0) > 0;
  }
  if (disturbed == 0) return "";
  return format(
      "Other programs took %.0f %% of the CPU time. %zu of %zu rows are disturbed, and their "
      "speeds are probably too low: measure again when nothing else runs\n",
      100.0 * all["busy"].get<double>(), disturbed, rows);
}

}  // namespace gpt2::cli
