#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/args.h"
#include "cli/bench_measure.h"
#include "cli/bench_report.h"
#include "cli/bench_subject.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/draft_gain.h"
#include "cli/elapsed.h"
#include "cli/machine.h"
#include "cli/workload.h"
#include "gpt2/runtime.h"
#include "gpt2/version.h"
#include "measure/limit_meter.h"

namespace gpt2::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kExamples =
    R"(Each row measures one kind of work: reading a prompt, with all of its tokens at once; writing
a text, token by token, after a prompt of the given length; or writing several texts at once. The
row shows the median speed of the repetitions and, in parentheses, the slowest and the fastest. A
row that is too long for the model is skipped.

The limit is what the machine itself can do, measured right before and right after each repetition.
It is the time to read the bytes that must be read, from memory or from a cache that holds them, or
the time to do the arithmetic that must be done, whichever is longer. A multiply-add counts as two
operations.

Other programs that use the CPU make the results unreliable. A repetition is disturbed if other
programs took CPUs away from it, or if the limits changed around it. Disturbed repetitions are
repeated, up to twice as many repetitions in all; a row that is still disturbed after that says so
at its end.

The row about drafts says how much faster texts are written if an int4 copy of the model drafts
them (gpt2 generate --draft). That depends on how many of the drafted tokens the model accepts,
which gpt2 generate --stats shows for a text.

In the JSON, "busy" is the share of the CPU time that other programs took, "attempts" is the number
of repetitions, and "disturbed" is the number of disturbed ones that the row includes. Each of
"sequences" texts has "context" tokens and gets "tokens" more.

Examples:
  gpt2 bench
  gpt2 bench --size 355M --dtype bf16 --dtype int8 --threads 4
  gpt2 bench -m ~/models/gpt2 --json > bench.json)";

struct Options {
  std::string size = "124M";
  std::string model;
  bool is_random = true;  // measure a random model of that size instead of that model
  std::vector<std::string> dtypes;
  int threads = 0;
  KVType kv_type = KVType::automatic;
  std::size_t repetitions = 5;
  bool as_json = false;

  [[nodiscard]] int all_threads() const { return threads > 0 ? threads : thread_count(); }

  // Writes a line, unless the output is JSON.
  void print(const std::string& line) const {
    if (!as_json) write_stdout(line);
  }
};

// Prints an estimate of how long the whole benchmark will take. The other weight types are assumed
// to take no longer than the first one, which has just been loaded. Each repetition runs the work
// twice, once to warm up; the factor 2.5 assumes that the engine reaches 80 % of the limits.
void announce(const Options& options, const Engine& engine, const Work& limits, double loading) {
  double total = loading;
  for (const Workload& workload : workloads()) {
    if (workload.length() > engine.model().config().n_positions) continue;
    const Work work = work_of(workload, engine);
    const double pass = std::max(work.bytes / limits.bytes,
                                 work.flop / limits.flop + work.int8_ops / limits.int8_ops);
    const auto repetitions = static_cast<double>(options.repetitions);
    total += (repetitions + 1.0) * LimitMeter::kSeconds + 2.5 * repetitions * pass;
  }
  const auto bytes = static_cast<double>(engine.model().bytes_per_token());
  total += static_cast<double>(options.repetitions) * kDraftGainPasses * bytes / limits.bytes;
  total *= static_cast<double>(options.dtypes.size());
  print_error("this takes about " +
              (total < 100.0 ? format("%.0f seconds", 5.0 * std::ceil(total / 5.0))
                             : format("%.0f minutes", std::ceil(total / 60.0))) +
              ", and longer if other programs keep the machine busy");
}

// The line above the rows of one weight type.
std::string heading(const std::string& dtype, KVType kv_type, const Work& limits) {
  return format(
      "%s weights, keys and values in %s; the machine reads %.1f GB/s, does %.0f GFLOP/s in f32 "
      "and %.0f GOP/s in int8\n",
      dtype.c_str(), name_of(kv_type).data(), limits.bytes * 1e-9, limits.flop * 1e-9,
      limits.int8_ops * 1e-9);
}

// Returns an int4 copy of the model, or nothing if the model is not larger than such a copy or has
// too few positions for the measurement.
std::optional<Engine> draft_of(const Engine& engine, const BenchSubject& subject,
                               const Options& options) {
  const bool is_long = engine.model().config().n_positions >= kDraftGainTokens;
  if (engine.model().weight_type() == WeightType::int4 || !is_long) return std::nullopt;
  if (!subject.can_load("int4")) return std::nullopt;
  return Engine(subject.load("int4"), {.threads = options.threads, .kv_type = engine.kv_type()});
}

// Measures the model with weights of one type, prints its rows and adds them to `all`.
void measure_dtype(const std::string& dtype, const BenchSubject& subject, const Options& options,
                   Json& all) {
  const auto start = Clock::now();
  const Engine engine(subject.load(dtype),
                      {.threads = options.threads, .kv_type = options.kv_type});
  LimitMeter meter(options.all_threads(), engine.model().bytes_per_token());
  const Work limits = meter.measure();
  if (all["limits"].empty()) announce(options, engine, limits, seconds_since(start));
  options.print(heading(dtype, engine.kv_type(), limits));
  all["limits"].push_back({{"dtype", dtype},
                           {"bytes_per_s", limits.bytes},
                           {"flop_per_s", limits.flop},
                           {"int8_op_per_s", limits.int8_ops}});
  for (const Workload& workload : workloads()) {
    Json row = measure(workload, engine, meter, options.repetitions);
    options.print(bench_row(row));
    row["dtype"] = dtype;
    row["kv_type"] = name_of(engine.kv_type());
    all["measurements"].push_back(std::move(row));
  }
  if (const auto draft = draft_of(engine, subject, options)) {
    Json row = draft_gain(engine, *draft, options.repetitions);
    options.print(draft_gain_in_words(row));
    row["dtype"] = dtype;
    all["drafts"].push_back(std::move(row));
  }
}

Options parse_options(Arguments arguments) {
  Options options;
  CLI::App app("Measures the speed, compared with the limits of this machine", "gpt2 bench");
  app.footer(kExamples);
  app.add_option("--size", options.size,
                 "Measure a model with random weights (as fast as trained "
                 "ones): 124M (default), 355M, 774M or 1558M parameters")
      ->option_text("SIZE");
  add_model_option(app, options.model)
      ->description("Measure this model instead: a directory, a file in it, or a name")
      ->excludes("--size");
  app.add_option("--dtype", options.dtypes,
                 "Convert the weights to this type; may be repeated "
                 "(default: f32, bf16, int8 and int4 in turn, or the type of a quantized model)")
      ->option_text("f32|f16|bf16|int8|int4")
      ->allow_extra_args(false);
  add_threads_option(app, options.threads);
  add_kv_option(app, options.kv_type);
  add_number(app, "--repetitions", options.repetitions, 1, 1000, "How often to measure each row");
  add_switch(app, "--json", options.as_json, "Print one JSON object instead of text");
  parse(app, std::move(arguments));
  for (const std::string& dtype : options.dtypes) static_cast<void>(parse_dtype(dtype));
  options.is_random = app.count("--model") == 0;
  return options;
}

}  // namespace

int bench(Arguments arguments) {
  Options options = parse_options(std::move(arguments));
  const BenchSubject subject =
      options.is_random ? BenchSubject::random(options.size) : BenchSubject::named(options.model);
  if (options.dtypes.empty()) options.dtypes = subject.default_dtypes();
  const int threads = options.all_threads();
  const std::string isa(isa_name());
  options.print(format("%s, %d %s, %s, %s\n", subject.name().c_str(), threads,
                       threads == 1 ? "thread" : "threads", isa.c_str(), cpu_name().c_str()));
  Json all = {{"version", GPT2_VERSION_STRING},
              {"date", utc_now()},
              {"cpu", cpu_name()},
              {"model", subject.name()},
              {"threads", threads},
              {"isa", isa},
              {"busy", 0.0},
              {"limits", Json::array()},
              {"measurements", Json::array()},
              {"drafts", Json::array()}};
  const CpuUse begin = cpu_use();
  for (const std::string& dtype : options.dtypes) measure_dtype(dtype, subject, options, all);
  all["busy"] = share_of_others(begin, cpu_use(), usable_cpus().cpus);
  options.print(bench_conclusion(all));
  if (options.as_json) {
    write_stdout(all.dump(2, ' ', true, Json::error_handler_t::replace) + '\n');
  }
  return 0;
}

}  // namespace gpt2::cli
