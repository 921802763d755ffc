#include "cli/bench/workload.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/seconds_since.h"
#include "base/text.h"
#include "gpt2/session.h"

namespace gpt2::cli {
namespace {

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
  WorkloadTexts(const Workload& workload, const Engine& engine);

  // Runs all passes. Every call starts from the same context.
  void run();

 private:
  Workload workload_;
  std::vector<TokenId> ids_;  // all 0, because the time does not depend on the tokens
  std::vector<float> logits_;
  std::vector<Session> sessions_;
  std::vector<Slice> slices_;
};

WorkloadTexts::WorkloadTexts(const Workload& workload, const Engine& engine)
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

void WorkloadTexts::run() {
  for (Session& session : sessions_) session.rewind(workload_.context);
  for (std::size_t at = workload_.context; at < ids_.size(); at += workload_.tokens) {
    for (Slice& slice : slices_) slice.tokens = std::span(ids_).subspan(at, workload_.tokens);
    forward(slices_);
  }
}

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

}  // namespace

std::span<const Workload> workloads() { return kWorkloads; }

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

}  // namespace gpt2::cli
