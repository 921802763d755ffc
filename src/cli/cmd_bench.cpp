#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
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

constexpr const char* kExamples = R"(Examples:
  gpt2 bench
  gpt2 bench --size 355M --dtype bf16 --dtype int8 --threads 1 --threads 4
  gpt2 bench -m ~/models/gpt2 --json > bench.json

A percentage is of the limit that was measured beside each repetition: the bytes that must be read at
the memory's speed, or the multiply-adds that must be done at the arithmetic's, whichever takes longer.)";

struct Options {
  std::string size = "124M";
  std::string model;
  std::vector<std::string> dtypes = {"f32", "bf16", "int8", "int4"};
  std::vector<int> threads;
  std::size_t repetitions = 5;
  bool json = false;
};

// Something to measure. `run` does `tokens` tokens' worth of it.
struct Workload {
  std::string name;
  std::size_t tokens;
  double bytes;          // that must be read
  double multiply_adds;  // f32
  double byte_products;  // 8-bit
  std::function<void()> run;
};

struct Measurement {
  double tokens_per_second, least, most;
  double of_limit;  // median of the repetitions' own
  bool by_memory;   // which limit
  double rate;      // bytes or multiply-adds a second
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Measurement measure(const Workload& work, LimitMeter& meter, std::size_t repetitions) {
  std::vector<double> rates;
  std::vector<double> shares;
  std::size_t by_memory = 0;
  for (std::size_t i = 0; i < repetitions; ++i) {
    const Limits before = meter.measure();
    work.run();  // a cache that can hold what the work reads, holds it now
    const auto start = std::chrono::steady_clock::now();
    work.run();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Limits after = meter.measure();
    const double reading = 2.0 * work.bytes / (before.read_bytes + after.read_bytes);
    const double computing =
        2.0 * work.multiply_adds / (before.multiply_adds + after.multiply_adds) +
        2.0 * work.byte_products / (before.byte_products + after.byte_products);
    by_memory += reading > computing;
    shares.push_back(std::max(reading, computing) / seconds);
    rates.push_back(static_cast<double>(work.tokens) / seconds);
  }
  const double rate = median(rates);
  const bool memory = 2 * by_memory > repetitions;
  const double amount = memory ? work.bytes : work.multiply_adds + work.byte_products;
  return {rate,
          *std::min_element(rates.begin(), rates.end()),
          *std::max_element(rates.begin(), rates.end()),
          median(shares),
          memory,
          amount * rate / static_cast<double>(work.tokens)};
}

std::vector<TokenId> prompt_of(const Config& config, std::size_t length) {
  std::vector<TokenId> ids(length);
  for (std::size_t i = 0; i < length; ++i) {
    ids[i] = static_cast<TokenId>((i * 7919 + 13) % config.vocab_size);
  }
  return ids;
}

// The work of forward passes: `passes` of them, each of `rows` tokens in all with `wanted` logits;
// `keys` is the sum of the context lengths that the tokens of one pass see.
Workload workload(const Model& model, std::string name, std::size_t passes, std::size_t rows,
                  std::size_t wanted, double keys) {
  const Transformer& transformer = *model.transformer();
  const Config& config = model.config();
  const auto head = static_cast<double>(config.n_embd * config.vocab_size);
  double matrices = 0.0;
  for (const Block& block : transformer.blocks) {
    for (const Linear* linear :
         {&block.attn.c_attn, &block.attn.c_proj, &block.mlp.c_fc, &block.mlp.c_proj}) {
      matrices += static_cast<double>(linear->weight.k * linear->weight.n);
    }
  }
  const double products = static_cast<double>(rows) * matrices + static_cast<double>(wanted) * head;
  const double attention = 2.0 * keys * static_cast<double>(config.n_layer * config.n_embd);
  const bool packed = transformer.lm_head.is_packed();
  const auto count = static_cast<double>(passes);
  // A slice's keys and values are read once a pass, however many of its tokens look at them.
  const double cache = rows == wanted ? attention * sizeof(float) : 0.0;
  return {std::move(name),
          passes * rows,
          count * (static_cast<double>(model.bytes_per_token()) + cache),
          count * (attention + (packed ? 0.0 : products)),
          packed ? count * products : 0.0,
          {}};
}

Workload prefill(const Model& model, Session& session, std::size_t length) {
  const double keys = static_cast<double>(length) * static_cast<double>(length + 1) / 2.0;
  const std::size_t passes = length < 64 ? 8 : 1;  // enough to be timed
  Workload work = workload(model, "prefill " + std::to_string(length), passes, length, 1, keys);
  work.run = [&session, passes, ids = prompt_of(model.config(), length)] {
    for (std::size_t i = 0; i < passes; ++i) {
      session.rewind(0);
      session.forward(ids);
    }
  };
  return work;
}

Workload decode(const Model& model, Session& session, std::size_t context) {
  constexpr std::size_t kTokens = 16;
  Workload work = workload(model, "decode @" + std::to_string(context), kTokens, 1, 1,
                           static_cast<double>(context + kTokens / 2));
  session.rewind(0);
  session.forward(prompt_of(model.config(), context));
  work.run = [&session, context, ids = prompt_of(model.config(), kTokens)] {
    session.rewind(context);
    for (const TokenId& id : ids) session.forward(std::span(&id, 1));
  };
  return work;
}

Workload batch(const Model& model, std::vector<Session>& sessions, std::vector<float>& logits) {
  constexpr std::size_t kTokens = 8;
  constexpr std::size_t kContext = 16;
  const std::size_t size = sessions.size();
  Workload work = workload(model, "batch of " + std::to_string(size), kTokens, size, size,
                           static_cast<double>(size * (kContext + kTokens / 2)));
  for (Session& session : sessions) session.forward(prompt_of(model.config(), kContext));
  work.run = [&sessions, &logits, ids = prompt_of(model.config(), kTokens)] {
    const std::size_t vocab_size = logits.size() / sessions.size();
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      sessions[i].rewind(kContext);
      slices.push_back({&sessions[i], {}, std::span(logits).subspan(i * vocab_size, vocab_size)});
    }
    for (const TokenId& id : ids) {
      for (Slice& slice : slices) slice.tokens = std::span(&id, 1);
      forward(slices);
    }
  };
  return work;
}

class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  void limits(const std::string& dtype, int threads, const Limits& limits) {
    if (json_) {
      all_["limits"].push_back({{"dtype", dtype},
                                {"threads", threads},
                                {"read_gb_per_s", limits.read_bytes * 1e-9},
                                {"f32_gflop_per_s", limits.multiply_adds * 2e-9},
                                {"int8_gop_per_s", limits.byte_products * 2e-9}});
      return;
    }
    char line[160];
    std::snprintf(line, sizeof line,
                  "%s, %d threads, %s: reads %.1f GB/s, f32 %.0f GFLOP/s, int8 %.0f GOP/s\n",
                  dtype.c_str(), threads, std::string(isa_name()).c_str(), limits.read_bytes * 1e-9,
                  limits.multiply_adds * 2e-9, limits.byte_products * 2e-9);
    write_stdout(line);
  }

  void add(const std::string& dtype, int threads, const std::string& name, const Measurement& m) {
    if (json_) {
      all_["measurements"].push_back({{"dtype", dtype},
                                      {"threads", threads},
                                      {"workload", name},
                                      {"tokens_per_s", m.tokens_per_second},
                                      {"min", m.least},
                                      {"max", m.most},
                                      {"of_limit", m.of_limit},
                                      {"limit", m.by_memory ? "memory" : "arithmetic"}});
      return;
    }
    char line[200];
    std::snprintf(line, sizeof line,
                  "  %-5s %-12s %8.1f tokens/s (%.1f .. %.1f)  %7.1f %s  %5.1f %%\n", dtype.c_str(),
                  name.c_str(), m.tokens_per_second, m.least, m.most,
                  m.rate * (m.by_memory ? 1e-9 : 2e-9), m.by_memory ? "GB/s   " : "GFLOP/s",
                  100.0 * m.of_limit);
    write_stdout(line);
  }

  void finish() const {
    if (json_) write_stdout(all_.dump(2) + "\n");
  }

 private:
  bool json_;
  nlohmann::json all_ = {{"isa", std::string(isa_name())}};
};

void bench(const Model& model, const std::string& dtype, int threads, const Options& options,
           Report& report) {
  LimitMeter meter(threads, model.bytes_per_token());
  static_cast<void>(meter.measure());
  report.limits(dtype, threads, meter.measure());
  const std::size_t longest = model.config().n_positions - 16;
  const SessionOptions session_options{.threads = threads};
  const auto add = [&](const Workload& work) {
    report.add(dtype, threads, work.name, measure(work, meter, options.repetitions));
  };
  Session session(model, session_options);
  for (const std::size_t length : {16, 512}) {
    if (length <= longest) add(prefill(model, session, length));
  }
  for (const std::size_t context : {16, 512}) {
    if (context <= longest) add(decode(model, session, context));
  }
  for (const std::size_t size : {8, 32}) {
    std::vector<Session> sessions;
    for (std::size_t i = 0; i < size; ++i) {
      sessions.emplace_back(model, SessionOptions{.max_tokens = 32, .threads = threads});
    }
    std::vector<float> logits(size * model.config().vocab_size);
    add(batch(model, sessions, logits));
  }
}

}  // namespace

int bench(Arguments arguments) {
  Options options;
  CLI::App app("Measures this machine's limits, and how much of them the engine reaches",
               "gpt2 bench");
  app.footer(kExamples);
  app.add_option("--size", options.size, "a model of random weights: 124M, 355M, 774M or 1558M")
      ->capture_default_str();
  add_model_option(app, options.model);
  app.add_option("--dtype", options.dtypes, "weight types; may be repeated")->capture_default_str();
  app.add_option("--threads", options.threads,
                 "thread counts; may be repeated (default: all cores)")
      ->check(CLI::Range(1, 1024));
  add_number(app, "--repetitions", options.repetitions, std::size_t{1}, std::size_t{1000},
             "of which the median is shown");
  app.add_flag("--json", options.json, "print JSON");
  if (!parse(app, std::move(arguments))) return 0;
  if (options.threads.empty()) options.threads = {thread_count()};

  Report report(options.json);
  for (const int threads : options.threads) {
    for (const std::string& dtype : options.dtypes) {
      const LoadOptions load{.dtype = parse_dtype(dtype)};
      const Model model = options.model.empty()
                              ? random_model(published_config(options.size), load)
                              : Model::load(find_model(options.model).weights, load);
      bench(model, dtype, threads, options, report);
    }
  }
  report.finish();
  return 0;
}

}  // namespace gpt2::cli
