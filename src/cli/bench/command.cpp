#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/bench/workload.h"
#include "cli/commands.h"
#include "cli/model.h"
#include "cli/terminal/console.h"
#include "gpt2/model_files.h"
#include "gpt2/runtime.h"
#include "gpt2/version.h"
#include "measure/limit_meter.h"
#include "measure/random_model.h"

namespace gpt2::cli {
namespace {

constexpr const char* kBenchDetails =
    R"(Each row measures one kind of work: reading a prompt, all of its tokens at once; writing a
text, token by token, after a prompt of the given length; or writing several texts at once. It shows
the median speed of the repetitions, the slowest and the fastest, the bytes that were read or the
operations that were done in a second, and the share of the machine's limit.

The limit is what the machine itself can do, measured before and after each repetition: the time to
read the bytes that must be read, or to do the arithmetic that must be done, whichever is longer. A
multiply-add counts as two operations. Other programs that use the CPU make the results unreliable:
compare the slowest and the fastest.

The rows about walks say in which order the matrices of each shape are read, and how many times as
fast that was as the order that GPT2_TUNE=off uses. No result depends on it.

Examples:
  gpt2 bench
  gpt2 bench --size 355M --dtype bf16 --dtype int8 --threads 4
  gpt2 bench -m ~/models/gpt2 --json > bench.json)";

struct BenchSettings {
  std::string size = "124M";
  std::string model;
  bool is_random = true;  // measure a random model of that size instead of that model
  std::vector<std::string> dtypes;
  EngineOptions engine;
  std::size_t repetitions = 5;
  bool as_json = false;

  [[nodiscard]] int all_threads() const {
    return engine.threads > 0 ? engine.threads : thread_count();
  }

  // Writes a line, unless the output is JSON.
  void print(const std::string& line) const {
    if (!as_json) write_stdout(line);
  }
};

Config published_config(const std::string& size) {
  if (size == "124M") return {.n_embd = 768, .n_layer = 12, .n_head = 12};
  if (size == "355M") return {.n_embd = 1024, .n_layer = 24, .n_head = 16};
  if (size == "774M") return {.n_embd = 1280, .n_layer = 36, .n_head = 20};
  if (size == "1558M") return {.n_embd = 1600, .n_layer = 48, .n_head = 25};
  throw UsageError("--size", "expected 124M, 355M, 774M or 1558M, found '" + size + "'");
}

// The model that is measured. It is loaded again for each weight type.
struct Subject {
  std::string name;
  std::filesystem::path path = {};  // empty: random weights
  Config config = {};

  // Returns the weight types to measure by default. A quantized model can only be loaded as it is.
  [[nodiscard]] std::vector<std::string> default_dtypes() const {
    if (config.quantized == WeightType::stored) return {"f32", "bf16", "int8", "int4"};
    return {std::string(name_of(config.quantized))};
  }

  [[nodiscard]] Model load(const std::string& dtype) const {
    const LoadOptions options{.dtype = parse_dtype(dtype)};
    return path.empty() ? random_model(config, options) : load_as(path, options);
  }
};

// Returns a model of random weights with the sizes of one that OpenAI published, or the model that
// --model names.
Subject subject_of(const BenchSettings& settings) {
  if (settings.is_random) {
    return {.name = settings.size + " parameters of random weights",
            .config = published_config(settings.size)};
  }
  const std::filesystem::path path = find_model(settings.model);
  return {.name = path.string(), .path = path, .config = Model::load(path).config()};
}

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

// Returns the lines above the rows of one weight type: the type, the limits and the titles.
std::string heading(const Json& limits, std::string_view kv_type) {
  const auto limit = [&](const char* name, const char* unit) {
    return with_prefix(limits[name].get<double>(), unit);
  };
  return concat("\n", limits["dtype"].get<std::string>(), " weights, keys and values in ", kv_type,
                "; the machine's limits:\n", limit("bytes_per_s", "B/s"), ", ",
                limit("flop_per_s", "FLOP/s"), " in f32 and ", limit("int8_op_per_s", "OP/s"),
                " in int8\n", row_of("", "tokens/s", "min", "max", "rate", "limit"), "\n");
}

// Returns a row of "measurements" as a line of at most 80 columns.
std::string row_in_words(const Json& row) {
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
         '\n';
}

// Returns a row of "walks" as a line: the shape, the walk and its gain.
std::string walk_in_words(const Json& row) {
  const std::string shape =
      concat("walk of ", row["k"].get<std::size_t>(), " x ", row["n"].get<std::size_t>(),
             row["single_row"].get<bool>() ? "" : ", few rows");
  return format("  %-30s %-35s %6.2f x\n", shape.c_str(), row["walk"].get<std::string>().c_str(),
                row["gain"].get<double>());
}

// Measures the model with weights of one type, prints its rows and adds them to `all`.
void measure_dtype(const std::string& dtype, const Subject& subject, const BenchSettings& settings,
                   Json& all) {
  const Engine engine(subject.load(dtype), settings.engine);
  LimitMeter meter(settings.all_threads(), engine.model().bytes_per_token());
  const Work limits = meter.measure();
  all["limits"].push_back({{"dtype", dtype},
                           {"bytes_per_s", limits.bytes},
                           {"flop_per_s", limits.flop},
                           {"int8_op_per_s", limits.int8_ops}});
  settings.print(heading(all["limits"].back(), name_of(engine.kv_type())));
  for (const Workload& workload : workloads()) {
    Json row = measure(workload, engine, meter, settings.repetitions);
    settings.print(row_in_words(row));
    row["dtype"] = dtype;
    row["kv_type"] = name_of(engine.kv_type());
    all["measurements"].push_back(std::move(row));
  }
  for (const WalkChoice& choice : engine.walks()) {
    Json row = {{"k", choice.k},
                {"n", choice.n},
                {"single_row", choice.is_single_row},
                {"walk", choice.walk},
                {"gain", choice.gain}};
    settings.print(walk_in_words(row));
    row["dtype"] = dtype;
    all["walks"].push_back(std::move(row));
  }
}

BenchSettings read_bench_settings(const Arguments& arguments) {
  BenchSettings settings;
  Options options("gpt2 bench", "Measures the speed, compared with the limits of this machine",
                  kBenchDetails);
  options.add_text("--size", "SIZE", settings.size,
                   "Measure a model with random weights (as fast as trained ones): 124M (default), "
                   "355M, 774M or 1558M parameters");
  Option& model = add_model_option(options, settings.model);
  model.excluded = {"--size"};
  model.help = "Measure this model instead: a directory, a file in it, or a name";
  const auto add_dtype = [&settings](const std::string& text) {
    static_cast<void>(parse_dtype(text));
    settings.dtypes.push_back(text);
  };
  options
      .add("--dtype", "f32|f16|bf16|int8|int4",
           "Convert the weights to this type; may be repeated (default: f32, bf16, int8 and int4 "
           "in turn, or the type of a quantized model)",
           add_dtype)
      .is_repeatable = true;
  add_engine_options(options, settings.engine);
  options.add_number("--repetitions", settings.repetitions, {1, 1000},
                     "How often to measure each row");
  options.add_switch("--json", settings.as_json, "Print one JSON object instead of text");
  options.parse(arguments);
  settings.is_random = !options.has("--model");
  return settings;
}

}  // namespace

int bench(const Arguments& arguments) {
  BenchSettings settings = read_bench_settings(arguments);
  const Subject subject = subject_of(settings);
  if (settings.dtypes.empty()) settings.dtypes = subject.default_dtypes();
  const int threads = settings.all_threads();
  const std::string isa(isa_name());
  settings.print(concat(subject.name, ", ", counted(static_cast<std::size_t>(threads), "thread"),
                        ", ", isa, "\n"));
  Json all = {{"version", GPT2_VERSION_STRING},
              {"model", subject.name},
              {"threads", threads},
              {"isa", isa},
              {"limits", Json::array()},
              {"measurements", Json::array()},
              {"walks", Json::array()}};
  for (const std::string& dtype : settings.dtypes) measure_dtype(dtype, subject, settings, all);
  if (settings.as_json) {
    write_stdout(all.dump(2, ' ', true, Json::error_handler_t::replace) + '\n');
  }
  return 0;
}

}  // namespace gpt2::cli
