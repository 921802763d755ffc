#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/seconds_since.h"
#include "base/text.h"
#include "cli/bench/limit_meter.h"
#include "cli/bench/random_model.h"
#include "cli/commands.h"
#include "cli/model.h"
#include "cli/terminal/console.h"
#include "gpt2/engine.h"
#include "gpt2/model_files.h"
#include "gpt2/runtime.h"
#include "gpt2/session.h"
#include "gpt2/version.h"

namespace gpt2::cli {
namespace {

using Json = nlohmann::ordered_json;

// A kind of work that gpt2 bench times: `passes` forward passes, each over `sequences` texts at
// once. Each text has `context` tokens beforehand and gets `tokens` more in every pass.
struct Workload {
  const char* name;
  const char* phase;  // "prompt" or "decode"
  std::size_t sequences, context, tokens, passes;

  // The number of positions that each text needs.
  [[nodiscard]] std::size_t length() const { return context + tokens * passes; }
};

constexpr Workload kWorkloads[] = {
    {"reading a prompt of 16 tokens", "prompt", 1, 0, 16, 1},
    {"reading a prompt of 512 tokens", "prompt", 1, 0, 512, 1},
    {"writing after 16 tokens", "decode", 1, 16, 1, 16},
    {"writing after 512 tokens", "decode", 1, 512, 1, 16},
    {"writing 8 texts at once", "decode", 8, 16, 1, 8},
    {"writing 32 texts at once", "decode", 32, 16, 1, 8},
};

// The texts of a workload. Their context is already in the sessions' caches. REQUIRES: the model
// has workload.length() positions or more.
class WorkloadTexts {
 public:
  WorkloadTexts(const Workload& workload, const Engine& engine)
      : workload_(workload),
        ids_(workload.length()),
        logits_(workload.sequences * engine.model().config().vocab_size) {
    const std::size_t vocab_size = engine.model().config().vocab_size;
    sessions_.reserve(workload.sequences);  // so that no session moves: slices_ points at them
    for (std::size_t i = 0; i < workload.sequences; ++i) {
      const SessionOptions options{.max_tokens = workload.length()};
      Session& session = sessions_.emplace_back(engine, options);
      if (workload.context != 0) session.forward(std::span(ids_).first(workload.context));
      slices_.push_back({&session, {}, std::span(logits_).subspan(i * vocab_size, vocab_size)});
    }
  }

  // Runs all passes. Every call starts from the same context.
  void run() {
    for (Session& session : sessions_) session.rewind(workload_.context);
    for (std::size_t at = workload_.context; at < ids_.size(); at += workload_.tokens) {
      for (Slice& slice : slices_) slice.tokens = std::span(ids_).subspan(at, workload_.tokens);
      forward(slices_);
    }
  }

 private:
  Workload workload_;
  std::vector<TokenId> ids_;  // all 0, because the time does not depend on the tokens
  std::vector<float> logits_;
  std::vector<Session> sessions_;
  std::vector<Slice> slices_;
};

// The speed of a run.
struct Attempt {
  double tokens_per_s = 0.0;
  double of_limit = 0.0;  // the share of the machine's limit that the run reached
  bool by_memory = true;  // whether reading memory sets that limit, rather than arithmetic
};

// Times a run. There are two kinds of work: reading memory and arithmetic. The limit for each is
// the larger of the speeds measured right before the run, which `limit` has, and right after it,
// which replaces them. The kind of work that would take longer at its limit sets the limit of the
// run.
Attempt attempt(WorkloadTexts& texts, LimitMeter& meter, const Work& work, double tokens,
                Work& limit) {
  texts.run();  // warm up: loads the data of the run into the caches that can hold it
  const auto start = std::chrono::steady_clock::now();
  texts.run();
  const double seconds = seconds_since(start);
  const Work before = std::exchange(limit, meter.measure());
  const double reading = work.bytes / std::max(before.bytes, limit.bytes);
  const double computing = work.flop / std::max(before.flop, limit.flop) +
                           work.int8_ops / std::max(before.int8_ops, limit.int8_ops);
  return {.tokens_per_s = tokens / seconds,
          .of_limit = std::max(reading, computing) / seconds,
          .by_memory = reading > computing};
}

// Returns the middle one of the values; of an even number, the lower middle one.
double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

// The minimum work that all passes of a workload take together.
Work work_of(const Workload& w, const Engine& engine) {
  const Model& model = engine.model();
  const Config& config = model.config();
  // Multiply-adds for each token: those that compute keys and values, all of a block, and lm_head.
  const std::size_t stored = 2 * config.n_embd * config.n_embd;
  const std::size_t block = 2 * stored + 2 * config.n_embd * config.inner_dim();
  const std::size_t head = config.n_embd * config.vocab_size;
  // In the last block, all tokens of a pass need their keys and values, but only the last token of
  // each text needs the rest of the block, because only its logits are computed.
  const std::size_t blocks =
      (config.n_layer - 1) * w.tokens * block + (w.tokens - 1) * stored + block;
  const std::size_t products = w.passes * w.sequences * (blocks + head);
  // Every token attends to the tokens before it and to itself. `keys` is their number, summed over
  // all tokens that a text gets; `last_keys` is the same sum over only the last token of each pass.
  const std::size_t added = w.tokens * w.passes;
  const std::size_t keys = added * (2 * w.context + added + 1) / 2;
  const std::size_t last_keys = w.passes * (2 * w.context + added + w.tokens) / 2;
  const std::size_t attention =
      2 * w.sequences * ((config.n_layer - 1) * keys + last_keys) * config.n_embd;
  // A pass reads the keys and values of a text once, however many of its tokens attend to them. In
  // a pass of several tokens nothing is counted: in these workloads such a pass has no context, so
  // that it reads only keys and values that it has just computed.
  const std::size_t cache = w.tokens == 1 ? attention * bytes_of(engine.kv_type()) : 0;
  const WeightType type = model.weight_type();
  const bool is_quantized = type == WeightType::int8 || type == WeightType::int4;
  return {.bytes = static_cast<double>(w.passes * model.bytes_per_token() + cache),
          .flop = 2.0 * static_cast<double>(attention + (is_quantized ? 0 : products)),
          .int8_ops = 2.0 * static_cast<double>(is_quantized ? products : 0)};
}

// Times a workload `repetitions` times, and returns an element of "measurements" in the JSON: the
// median, min and max speed, and the median share of the machine's limits, which `meter` measures
// between the repetitions. If the model has too few positions for the workload, the row has a note
// about this instead.
Json measure(const Workload& workload, const Engine& engine, LimitMeter& meter,
             std::size_t repetitions) {
  const std::size_t tokens = workload.tokens * workload.passes;  // for each text
  Json row = {{"workload", workload.name},
              {"phase", workload.phase},
              {"sequences", workload.sequences},
              {"tokens", tokens},
              {"context", workload.context}};
  const std::size_t n_positions = engine.model().config().n_positions;
  if (workload.length() > n_positions) {
    row["skipped"] = concat("needs ", workload.length(), " positions, the model has ", n_positions);
    return row;
  }
  const Work work = work_of(workload, engine);
  const auto all_tokens = static_cast<double>(workload.sequences * tokens);
  WorkloadTexts texts(workload, engine);
  Work limit = meter.measure();
  std::vector<double> speeds, shares;
  std::size_t by_memory = 0;
  for (std::size_t i = 0; i < repetitions; ++i) {
    const Attempt found = attempt(texts, meter, work, all_tokens, limit);
    speeds.push_back(found.tokens_per_s);
    shares.push_back(found.of_limit);
    by_memory += found.by_memory;
  }
  const double runs_per_s = median(speeds) / all_tokens;
  row.update({{"tokens_per_s", median(speeds)},
              {"min", std::ranges::min(speeds)},
              {"max", std::ranges::max(speeds)},
              {"bytes_per_s", work.bytes * runs_per_s},
              {"flop_per_s", work.flop * runs_per_s},
              {"int8_op_per_s", work.int8_ops * runs_per_s},
              {"of_limit", median(shares)},
              {"limit", 2 * by_memory > repetitions ? "memory" : "arithmetic"}});
  // A share above 1 shows that the limit was measured too low.
  if (median(shares) > 1.0) row["of_limit"] = nullptr;
  return row;
}

constexpr const char* kBenchDetails =
    R"(Each row measures one kind of work: reading a prompt, all of its tokens at once; writing a
text, token by token, after a prompt of the given length; or writing several texts at once. It shows
the median speed of the repetitions, the slowest and the fastest, and the share of the machine's
limit. --json adds the bytes that were read and the operations that were done in a second.

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
  std::string model;           // "": a random model of that size
  std::filesystem::path path;  // of the model
  std::string base;
  std::vector<std::string> dtypes;
  EngineOptions engine;
  std::size_t repetitions = 5;
  bool as_json = false;

  [[nodiscard]] int all_threads() const {
    return engine.threads > 0 ? engine.threads : thread_count();
  }

  [[nodiscard]] std::string shown_model() const {
    return model.empty() ? size + " parameters of random weights" : path.string();
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
  return {.n_embd = 1600, .n_layer = 48, .n_head = 25};
}

// Loads the model that --model names, or makes one of random weights with the sizes of one that
// OpenAI published.
Model load_measured(const BenchSettings& settings, const std::string& dtype) {
  const LoadOptions options{.dtype = parse_dtype(dtype), .base = settings.base};
  if (settings.model.empty()) return random_model(published_config(settings.size), options);
  return load_as(settings.path, options);
}

// Sets the weight types to measure, unless they were given. A quantized model can only be loaded as
// it is.
void choose_dtypes(BenchSettings& settings) {
  if (!settings.dtypes.empty()) return;
  settings.dtypes = {"f32", "bf16", "int8", "int4"};
  if (settings.model.empty()) return;
  const Model stored = Model::load(settings.path, {.base = settings.base});
  const WeightType type = stored.config().quantized;
  if (type != WeightType::stored) settings.dtypes = {std::string(name_of(type))};
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

// Returns a number of about four digits or, if it is larger, a whole one.
std::string speed(double value) {
  const int decimals = value < 10.0 ? 3 : value < 100.0 ? 2 : value < 1000.0 ? 1 : 0;
  return format("%.*f", decimals, value);
}

std::string row_of(const std::string& workload, const std::string& median, const std::string& min,
                   const std::string& max, const std::string& of_limit) {
  return format("  %-30s %8s  %8s .. %-8s %6s", workload.c_str(), median.c_str(), min.c_str(),
                max.c_str(), of_limit.c_str());
}

// Returns the lines above the rows of one weight type: the type, the limits and the titles.
std::string heading(const Json& limits, std::string_view kv_type) {
  const auto limit = [&](const char* name, const char* unit) {
    return with_prefix(limits[name].get<double>(), unit);
  };
  return concat("\n", limits["dtype"].get<std::string>(), " weights, keys and values in ", kv_type,
                "; the machine's limits:\n", limit("bytes_per_s", "B/s"), ", ",
                limit("flop_per_s", "FLOP/s"), " in f32 and ", limit("int8_op_per_s", "OP/s"),
                " in int8\n", row_of("", "tokens/s", "min", "max", "limit"), "\n");
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
                of_limit) +
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
void measure_dtype(const std::string& dtype, const BenchSettings& settings, Json& all) {
  const Engine engine(load_measured(settings, dtype), settings.engine);
  LimitMeter meter(settings.all_threads(), engine.model().bytes_per_token());
  const Work limits = meter.measure();
  all["limits"].push_back({{"dtype", dtype},
                           {"bytes_per_s", limits.bytes},
                           {"flop_per_s", limits.flop},
                           {"int8_op_per_s", limits.int8_ops}});
  settings.print(heading(all["limits"].back(), name_of(engine.kv_type())));
  for (const Workload& workload : kWorkloads) {
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
  options.add_choice(
      "--size", "124M|355M|774M|1558M",
      "Measure a model of so many parameters with random weights, which is as fast as "
      "a trained one (default 124M)",
      [&settings](const std::string& size) { settings.size = size; });
  Option& model = add_model_option(options, settings.model);
  model.excluded = {"--size"};
  model.help = "Measure this model instead: a directory, a file in it, or a name";
  add_base_option(options, settings.base);
  const auto add_dtype = [&settings](const std::string& text) {
    static_cast<void>(parse_dtype(text));
    settings.dtypes.push_back(text);
  };
  options
      .add("--dtype", words_of(WeightType::f32),
           "Convert the weights to this type; may be repeated (default: f32, bf16, int8 and int4 "
           "in turn, or the type of a quantized model)",
           add_dtype)
      .is_repeatable = true;
  add_engine_options(options, settings.engine);
  options.add_number("--repetitions", settings.repetitions, {1, 1000},
                     "How often to measure each row");
  options.add_switch("--json", settings.as_json, "Print one JSON object instead of text");
  options.parse(arguments);
  if (!settings.model.empty()) settings.path = find_model(settings.model);
  choose_dtypes(settings);
  return settings;
}

}  // namespace

int bench(const Arguments& arguments) {
  const BenchSettings settings = read_bench_settings(arguments);
  const int threads = settings.all_threads();
  const std::string isa(isa_name());
  settings.print(concat(settings.shown_model(), ", ",
                        counted(static_cast<std::size_t>(threads), "thread"), ", ", isa, "\n"));
  Json all = {{"version", GPT2_VERSION_STRING},
              {"model", settings.shown_model()},
              {"threads", threads},
              {"isa", isa},
              {"limits", Json::array()},
              {"measurements", Json::array()},
              {"walks", Json::array()}};
  for (const std::string& dtype : settings.dtypes) measure_dtype(dtype, settings, all);
  if (settings.as_json) {
    write_stdout(all.dump(2, ' ', true, Json::error_handler_t::replace) + '\n');
  }
  return 0;
}

}  // namespace gpt2::cli
