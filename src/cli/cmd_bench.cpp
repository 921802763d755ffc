#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/find_model.h"
#include "cli/limits.h"
#include "gpt2/runtime.h"
#include "gpt2/session.h"
#include "model/random_model.h"
#include "model/transformer.h"

namespace gpt2::cli {
namespace {

constexpr const char* kExamples =
    R"(Each row is the median of the repetitions, with the slowest and the fastest: reading a prompt, all of its
tokens at once; writing a text, token by token, after a prompt of that length; writing several texts in
step. The limit is what the machine itself could do, measured beside each repetition: read the bytes
that must be read, from memory or a cache that holds them, or do the multiply-adds that must be done,
whichever takes longer.

Examples:
  gpt2 bench
  gpt2 bench --size 355M --dtype bf16 --dtype int8 --threads 4
  gpt2 bench -m ~/models/gpt2 --json > bench.json)";

struct Options {
  std::string size = "124M";
  std::string model;
  std::vector<std::string> dtypes = {"f32", "bf16", "int8", "int4"};
  int threads = thread_count();
  std::size_t repetitions = 5;
  bool json = false;
};

// Forward passes of `sequences` at once, each of which holds `context` tokens beforehand and gets
// `tokens` more in every pass.
struct Workload {
  const char* name;
  std::size_t sequences, context, tokens, passes;

  [[nodiscard]] std::size_t length() const { return context + tokens * passes; }
};

constexpr Workload kWorkloads[] = {
    {"reading 16 tokens", 1, 0, 16, 1},        {"reading 512 tokens", 1, 0, 512, 1},
    {"writing after 16 tokens", 1, 16, 1, 16}, {"writing after 512 tokens", 1, 512, 1, 16},
    {"writing 8 texts", 8, 16, 1, 8},          {"writing 32 texts", 32, 16, 1, 8},
};

// What a workload takes at least.
struct Cost {
  double bytes;          // that must be read
  double multiply_adds;  // f32
  double byte_products;  // 8-bit
};

Cost cost_of(const Workload& work, const Model& model) {
  const Transformer& transformer = *model.transformer();
  const Config& config = model.config();
  const auto passes = static_cast<double>(work.passes);
  const auto sequences = static_cast<double>(work.sequences);
  const auto tokens = static_cast<double>(work.tokens);
  double matrices = 0.0;
  for (const Block& block : transformer.blocks) {
    for (const Linear* linear :
         {&block.attn.c_attn, &block.attn.c_proj, &block.mlp.c_fc, &block.mlp.c_proj}) {
      matrices += static_cast<double>(linear->weight.k * linear->weight.n);
    }
  }
  const auto head = static_cast<double>(config.n_embd * config.vocab_size);
  const double products = passes * sequences * (tokens * matrices + head);
  // Every token sees those before it and itself.
  const double keys = sequences * passes * tokens *
                      (static_cast<double>(work.context) + (passes * tokens + 1.0) / 2.0);
  const double attention = 2.0 * keys * static_cast<double>(config.n_layer * config.n_embd);
  // A sequence's keys and values are read once a pass, however many of its tokens look at them.
  const double cache = work.tokens == 1 ? attention * sizeof(float) : 0.0;
  const bool packed = transformer.lm_head.is_packed();
  return {passes * static_cast<double>(model.bytes_per_token()) + cache,
          attention + (packed ? 0.0 : products), packed ? products : 0.0};
}

// Runs a workload again and again.
class Runner {
 public:
  Runner(const Workload& work, const Model& model, int threads)
      : work_(work), logits_(work.sequences * model.config().vocab_size) {
    for (std::size_t i = 0; i < work.length(); ++i) {
      ids_.push_back(static_cast<TokenId>((i * 7919 + 13) % model.config().vocab_size));
    }
    for (std::size_t i = 0; i < work.sequences; ++i) {
      sessions_.emplace_back(model,
                             SessionOptions{.max_tokens = work.length(), .threads = threads});
      if (work.context != 0) sessions_.back().forward(std::span(ids_).first(work.context));
    }
  }

  void run() {
    const std::size_t vocab_size = logits_.size() / work_.sequences;
    std::vector<Slice> slices;
    for (Session& session : sessions_) {
      session.rewind(work_.context);
      slices.push_back(
          {&session, {}, std::span(logits_).subspan(slices.size() * vocab_size, vocab_size)});
    }
    for (std::size_t at = work_.context; at < work_.length(); at += work_.tokens) {
      for (Slice& slice : slices) slice.tokens = std::span(ids_).subspan(at, work_.tokens);
      forward(slices);
    }
  }

 private:
  Workload work_;
  std::vector<float> logits_;
  std::vector<TokenId> ids_;
  std::vector<Session> sessions_;
};

struct Measurement {
  double tokens_per_second, least, most;
  double of_limit;  // median of the repetitions' own
  const char* limit;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Measurement measure(const Workload& work, const Model& model, LimitMeter& meter,
                    const Options& options) {
  const Cost cost = cost_of(work, model);
  const auto tokens = static_cast<double>(work.sequences * work.tokens * work.passes);
  Runner runner(work, model, options.threads);
  std::vector<double> rates;
  std::vector<double> shares;
  std::size_t by_memory = 0;
  for (std::size_t i = 0; i < options.repetitions; ++i) {
    const Limits before = meter.measure();
    runner.run();  // a cache that can hold what the work reads, holds it now
    const auto start = std::chrono::steady_clock::now();
    runner.run();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Limits after = meter.measure();
    const double reading = 2.0 * cost.bytes / (before.read_bytes + after.read_bytes);
    const double computing =
        2.0 * cost.multiply_adds / (before.multiply_adds + after.multiply_adds) +
        2.0 * cost.byte_products / (before.byte_products + after.byte_products);
    by_memory += reading > computing;
    shares.push_back(std::max(reading, computing) / seconds);
    rates.push_back(tokens / seconds);
  }
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  return {median(rates), *least, *most, median(shares),
          2 * by_memory > options.repetitions ? "memory" : "arithmetic"};
}

// The results: a line each, or one JSON object at the end.
class Report {
 public:
  Report(const Options& options, const std::string& model) : json_(options.json) {
    all_ = {{"model", model}, {"threads", options.threads}, {"isa", isa_name()}};
    print("%s, %d threads, %s\n", model.c_str(), options.threads, std::string(isa_name()).c_str());
  }

  void add(const std::string& dtype, const Limits& limits) {
    all_["limits"].push_back({{"dtype", dtype},
                              {"read_gb_per_s", limits.read_bytes * 1e-9},
                              {"f32_gflop_per_s", limits.multiply_adds * 2e-9},
                              {"int8_gop_per_s", limits.byte_products * 2e-9}});
    print(
        "%s weights; this machine reads %.1f GB/s and does %.0f GFLOP/s in f32, %.0f GOP/s in "
        "int8\n",
        dtype.c_str(), limits.read_bytes * 1e-9, limits.multiply_adds * 2e-9,
        limits.byte_products * 2e-9);
  }

  void add(const std::string& dtype, const char* name, const Measurement& m) {
    all_["measurements"].push_back({{"dtype", dtype},
                                    {"workload", name},
                                    {"tokens_per_s", m.tokens_per_second},
                                    {"min", m.least},
                                    {"max", m.most},
                                    {"of_limit", m.of_limit},
                                    {"limit", m.limit}});
    print("  %-25s %8.1f tokens/s (%.1f .. %.1f), %.1f %% of the %s's limit\n", name,
          m.tokens_per_second, m.least, m.most, 100.0 * m.of_limit, m.limit);
  }

  void finish() const {
    if (json_) write_stdout(all_.dump(2) + "\n");
  }

 private:
  template <class... Values>
  void print(const char* format, Values... values) const {
    if (json_) return;
    char line[300];
    std::snprintf(line, sizeof line, format, values...);
    write_stdout(line);
  }

  bool json_;
  nlohmann::ordered_json all_;
};

void bench(const Model& model, const std::string& dtype, const Options& options, Report& report) {
  LimitMeter meter(options.threads, model.bytes_per_token());
  static_cast<void>(meter.measure());
  report.add(dtype, meter.measure());
  for (const Workload& work : kWorkloads) {
    if (work.length() > model.config().n_positions) continue;
    report.add(dtype, work.name, measure(work, model, meter, options));
  }
}

}  // namespace

int bench(Arguments arguments) {
  Options options;
  CLI::App app("Measures this machine's limits, and how much of them the engine reaches",
               "gpt2 bench");
  app.footer(kExamples);
  app.add_option("--size", options.size,
                 "Of a model of random weights, which are as fast: 124M\n(default), 355M, 774M or "
                 "1558M parameters")
      ->option_text("SIZE");
  add_model_option(app, options.model)->description("A model instead, by directory, file or name");
  app.add_option(
         "--dtype", options.dtypes,
         "How to hold the weights; may be repeated (default:\nf32, bf16, int8 and int4 in turn)")
      ->option_text("TYPE")
      ->allow_extra_args(false);
  add_number(app, "--threads", options.threads, 1, 1024, "How many to use");
  add_number(app, "--repetitions", options.repetitions, std::size_t{1}, std::size_t{1000},
             "How often to measure");
  add_switch(app, "--json", options.json, "As one JSON object");
  if (!parse(app, std::move(arguments))) return 0;
  refuse_both(app, "--size", "--model");
  for (const std::string& dtype : options.dtypes) static_cast<void>(parse_dtype(dtype));

  const bool is_random = options.model.empty();
  const Config config = is_random ? published_config(options.size) : Config();
  const std::filesystem::path weights = is_random ? "" : find_model(options.model).weights;
  Report report(options,
                is_random ? options.size + " parameters of random weights" : weights.string());
  for (const std::string& dtype : options.dtypes) {
    const LoadOptions load{.dtype = parse_dtype(dtype)};
    bench(is_random ? random_model(config, load) : Model::load(weights, load), dtype, options,
          report);
  }
  report.finish();
  return 0;
}

}  // namespace gpt2::cli
