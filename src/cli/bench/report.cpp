#include "cli/bench/report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "cli/terminal/console.h"

namespace gpt2::cli {

namespace {

// Returns a number of three digits and a unit with a prefix: "1.23 G" for 1.23e9.
std::string with_prefix(double value, const char* unit) {
  constexpr std::pair<double, const char*> kPrefixes[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  const char* prefix = "";
  for (const auto& [factor, name] : kPrefixes) {
    if (value < 0.9995 * factor) continue;
    value /= factor;
    prefix = name;
    break;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return format("%.*f %s%s", decimals, value, prefix, unit);
}

// Returns a number of about four digits, in at most six characters.
std::string speed(double value) {
  if (value >= 999'999.5) return format("%.2fM", 1e-6 * value);
  const int decimals = value < 10.0 ? 3 : value < 100.0 ? 2 : value < 1000.0 ? 1 : 0;
  return format("%.*f", decimals, value);
}

// Returns what the workload read or computed in a second, whichever the limit is about.
std::string rate_of(const Json& row) {
  const auto number = [&](const char* name) { return row[name].get<double>(); };
  if (row["limit"] == "memory") return with_prefix(number("bytes_per_s"), "B/s");
  const double int8 = number("int8_op_per_s");
  if (int8 > 0.0) return with_prefix(number("flop_per_s") + int8, "OP/s");
  return with_prefix(number("flop_per_s"), "FLOP/s");
}

std::string row_of(const std::string& workload, const std::string& median, const std::string& min,
                   const std::string& max, const std::string& rate, const std::string& of_limit) {
  return format("  %-30s %8s  %6s .. %-6s %12s %6s", workload.c_str(), median.c_str(), min.c_str(),
                max.c_str(), rate.c_str(), of_limit.c_str());
}

}  // namespace

std::string bench_heading(const Json& limits, const std::string& kv_type) {
  const auto limit = [&](const char* name, const char* unit) {
    return with_prefix(limits[name].get<double>(), unit);
  };
  return concat("\n", limits["dtype"].get<std::string>(), " weights, keys and values in ", kv_type,
                "; the machine's limits:\n", limit("bytes_per_s", "B/s"), ", ",
                limit("flop_per_s", "FLOP/s"), " in f32 and ", limit("int8_op_per_s", "OP/s"),
                " in int8\n", row_of("", "tokens/s", "min", "max", "rate", "limit"), "\n");
}

std::string bench_row(const Json& row) {
  const auto workload = row["workload"].get<std::string>();
  if (row.contains("skipped")) {
    return format("  %-30s skipped: %s\n", workload.c_str(),
                  row["skipped"].get<std::string>().c_str());
  }
  const auto number = [&](const char* name) { return row[name].get<double>(); };
  const bool is_below = !row["of_limit"].is_null();
  const double share = is_below ? 100.0 * number("of_limit") : 0.0;
  const std::string of_limit =
      is_below ? format(share < 99.95 ? "%.1f %%" : "%.0f %%", share) : ">100 %";
  return row_of(workload, speed(number("tokens_per_s")), speed(number("min")), speed(number("max")),
                rate_of(row), of_limit) +
         (number("disturbed") > 0 ? "*\n" : "\n");
}

std::string bench_walk(const Json& row) {
  const std::string shape =
      concat("walk of ", row["k"].get<std::size_t>(), " x ", row["n"].get<std::size_t>(),
             row["single_row"].get<bool>() ? "" : ", few rows");
  return format("  %-30s %-35s %6.2f x\n", shape.c_str(), row["walk"].get<std::string>().c_str(),
                row["gain"].get<double>());
}

std::string bench_conclusion(const Json& all) {
  std::size_t rows = 0;
  std::size_t disturbed = 0;
  for (const Json& row : all["measurements"]) {
    rows += row.contains("disturbed");
    disturbed += row.value("disturbed", 0) > 0;
  }
  if (disturbed == 0) return "";
  const double busy = 100.0 * all["busy"].get<double>();
  const std::string cause = busy < 1.0
                                ? "the speed of the machine changed meanwhile"
                                : format("other programs took %.0f %% of the CPU time", busy);
  const std::string begin =
      format("* %zu of %zu rows are disturbed, and their speeds are probably too low: %s. ",
             disturbed, rows, cause.c_str());
  if (disturbed < rows) return begin + "Measure again when nothing else runs.\n";
  return begin +
         "To measure without disturbance, end the other programs, or leave them some of the CPUs: "
         "give fewer --threads, or run taskset -c 0-3 gpt2 bench. If the machine is shared or "
         "virtual, or if its clock changes with the load, give more --repetitions and take the max "
         "as the speed of the machine.\n";
}

}  // namespace gpt2::cli
