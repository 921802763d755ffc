#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.h"
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

using Json = nlohmann::ordered_json;

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

Config published_config(const std::string& size) {
  if (size == "124M") return {.n_embd = 768, .n_layer = 12, .n_head = 12};
  if (size == "355M") return {.n_embd = 1024, .n_layer = 24, .n_head = 16};
  if (size == "774M") return {.n_embd = 1280, .n_layer = 36, .n_head = 20};
  if (size == "1558M") return {.n_embd = 1600, .n_layer = 48, .n_head = 25};
  throw UsageError("--size", "expected 124M, 355M, 774M or 1558M, found '" + size + "'");
}

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
Work cost_of(const Workload& work, const Model& model) {
  const Config& config = model.config();
  const std::size_t stored = 2 * config.n_embd * config.n_embd;  // keys and values
  const std::size_t block = 2 * stored + 2 * config.n_embd * config.inner_dim();
  const std::size_t head = config.n_embd * config.vocab_size;
  // The last block makes keys and values of all tokens, the rest of a pass's last one.
  const std::size_t blocks =
      (config.n_layer - 1) * work.tokens * block + (work.tokens - 1) * stored + block;
  const std::size_t products = work.passes * work.sequences * (blocks + head);
  // Every token sees those before it and itself.
  const std::size_t added = work.tokens * work.passes;
  const std::size_t keys = added * (2 * work.context + added + 1) / 2;
  const std::size_t last_keys = work.passes * (2 * work.context + added + work.tokens) / 2;
  const std::size_t attention =
      2 * work.sequences * ((config.n_layer - 1) * keys + last_keys) * config.n_embd;
  // A sequence's keys and values are read once a pass, however many of its tokens look at them.
  const std::size_t cache = work.tokens == 1 ? attention * sizeof(float) : 0;
  const bool packed = model.transformer()->lm_head.is_packed();
  return {static_cast<double>(work.passes * model.bytes_per_token() + cache),
          static_cast<double>(attention + (packed ? 0 : products)),
          static_cast<double>(packed ? products : 0)};
}

Json measure(const Workload& work, const Model& model, LimitMeter& meter, int threads,
             std::size_t repetitions) {
  const std::size_t most = model.config().n_positions;
  if (work.length() > most) {
    return {{"workload", work.name},
            {"skipped", concat("needs ", work.length(), " positions, the model has ", most)}};
  }
  const Work cost = cost_of(work, model);
  const std::vector<TokenId> ids(work.length());  // the time does not depend on which
  const std::size_t vocab_size = model.config().vocab_size;
  std::vector<float> logits(work.sequences * vocab_size);
  const Engine engine(model, {.threads = threads});
  std::vector<Session> sessions;
  sessions.reserve(work.sequences);
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < work.sequences; ++i) {
    Session& session = sessions.emplace_back(engine, SessionOptions{.max_tokens = work.length()});
    if (work.context != 0) session.forward(std::span(ids).first(work.context));
    slices.push_back({&session, {}, std::span(logits).subspan(i * vocab_size, vocab_size)});
  }
  const auto run = [&] {
    for (Session& session : sessions) session.rewind(work.context);
    for (std::size_t at = work.context; at < work.length(); at += work.tokens) {
      for (Slice& slice : slices) slice.tokens = std::span(ids).subspan(at, work.tokens);
      forward(slices);
    }
  };
  std::vector<double> rates;
  std::vector<double> shares;
  std::size_t by_memory = 0;
  const auto tokens = static_cast<double>(work.sequences * work.tokens * work.passes);
  for (std::size_t i = 0; i < repetitions; ++i) {
    const Work before = meter.measure();
    run();  // a cache that can hold what is read, holds it now
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const Work after = meter.measure();
    const double reading = 2.0 * cost.bytes / (before.bytes + after.bytes);
    const double computing =
        2.0 * cost.multiply_adds / (before.multiply_adds + after.multiply_adds) +
        2.0 * cost.byte_products / (before.byte_products + after.byte_products);
    by_memory += reading > computing;
    shares.push_back(std::max(reading, computing) / time.count());
    rates.push_back(tokens / time.count());
  }
  std::sort(rates.begin(), rates.end());
  std::sort(shares.begin(), shares.end());
  const std::size_t middle = (repetitions - 1) / 2;
  const double rate = rates[middle];
  return {{"workload", work.name},
          {"tokens_per_s", rate},
          {"min", rates.front()},
          {"max", rates.back()},
          {"bytes_per_s", cost.bytes * rate / tokens},
          {"multiply_adds_per_s", cost.multiply_adds * rate / tokens},
          {"byte_products_per_s", cost.byte_products * rate / tokens},
          {"of_limit", shares[middle]},
          {"limit", 2 * by_memory > repetitions ? "memory" : "arithmetic"}};
}

std::string to_string(const Json& row) {
  const auto text = [&](const char* name) { return row[name].get<std::string>(); };
  const std::string begin = format("  %-24s ", text("workload").c_str());
  if (row.contains("skipped")) return begin + "skipped: " + text("skipped") + '\n';
  const auto number = [&](const char* name) { return row[name].get<double>(); };
  const std::string limit = text("limit");
  std::string done = format("%.1f GB/s", 1e-9 * number("bytes_per_s"));
  if (limit == "arithmetic") {
    done = format("%.0f GFLOP/s", 2e-9 * number("multiply_adds_per_s"));
    const double bytes = number("byte_products_per_s");
    if (bytes > 0.0) done += format(" and %.0f GOP/s in int8", 2e-9 * bytes);
  }
  return begin + format("%8.1f tokens/s (%.1f .. %.1f), %s, %.1f %% of the %s's limit\n",
                        number("tokens_per_s"), number("min"), number("max"), done.c_str(),
                        100.0 * number("of_limit"), limit.c_str());
}

}  // namespace

int bench(Arguments arguments) {
  std::string size = "124M";
  std::string model_name;
  std::vector<std::string> dtypes = {"f32", "bf16", "int8", "int4"};
  int threads = 0;
  std::size_t repetitions = 5;
  bool as_json = false;
  CLI::App app("Measures this machine's limits, and how much of them the engine reaches\n",
               "gpt2 bench");
  app.footer(kExamples);
  app.add_option("--size", size,
                 "Of a model of random weights, which are as fast: 124M\n(default), 355M, 774M or "
                 "1558M parameters")
      ->option_text("SIZE");
  add_model_option(app, model_name)
      ->description("A model instead, by directory, file or name")
      ->excludes("--size");
  app.add_option("--dtype", dtypes,
                 "How to hold the weights; may be repeated (default:\nf32, bf16, int8 and int4 in "
                 "turn, or as quantized)")
      ->option_text("TYPE")
      ->allow_extra_args(false);
  add_number(app, "--threads", threads, 0, 1024,
             "How many to use; 0: one a core, fewer for small models");
  add_number(app, "--repetitions", repetitions, 1, 1000, "How often to measure");
  add_switch(app, "--json", as_json, "As one JSON object");
  parse(app, std::move(arguments));
  for (const std::string& dtype : dtypes) static_cast<void>(parse_dtype(dtype));

  const bool is_random = app.count("--model") == 0;
  const std::filesystem::path weights = is_random ? "" : find_model(model_name).weights;
  const Config config = is_random ? published_config(size) : Model::load(weights).config();
  const std::string name = is_random ? size + " parameters of random weights" : weights.string();
  if (config.packed != WeightType::stored && app.count("--dtype") == 0) {
    dtypes = {config.packed == WeightType::int8 ? "int8" : "int4"};
  }
  const auto print = [&](const std::string& line) {
    if (!as_json) write_stdout(line);
  };
  const int all_threads = threads > 0 ? threads : thread_count();
  print(concat(name, ", ", all_threads, " threads, ", isa_name(), "\n"));
  Json all = {{"model", name}, {"threads", all_threads}, {"isa", isa_name()}};
  for (const std::string& dtype : dtypes) {
    const LoadOptions load{.dtype = parse_dtype(dtype)};
    const Model model = is_random ? random_model(config, load) : Model::load(weights, load);
    LimitMeter meter(all_threads, model.bytes_per_token());
    const Work limits = meter.measure();
    print(format(
        "%s weights; the machine reads %.1f GB/s, does %.0f GFLOP/s in f32, %.0f GOP/s in int8\n",
        dtype.c_str(), limits.bytes * 1e-9, limits.multiply_adds * 2e-9,
        limits.byte_products * 2e-9));
    all["limits"].push_back({{"dtype", dtype},
                             {"bytes_per_s", limits.bytes},
                             {"multiply_adds_per_s", limits.multiply_adds},
                             {"byte_products_per_s", limits.byte_products}});
    for (const Workload& work : kWorkloads) {
      Json row = measure(work, model, meter, threads, repetitions);
      print(to_string(row));
      row["dtype"] = dtype;
      all["measurements"].push_back(std::move(row));
    }
  }
  if (as_json) write_stdout(all.dump(2, ' ', true, Json::error_handler_t::replace) + '\n');
  return 0;
}

}  // namespace gpt2::cli
