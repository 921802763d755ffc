// Tests that a scheduler's texts are bit for bit the ones that generate() writes alone, whatever
// the other texts, the pieces of the prompts, the shared prefixes and the limit on memory are.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/bench/random_model.h"
#include "gpt2/scheduler.h"
#include "support/catch.h"
#include "support/is_slow.h"
#include "support/passes.h"
#include "support/refusal.h"

namespace gpt2::test::scheduler_test {

namespace {

using Ids = std::vector<TokenId>;

constexpr std::size_t kPositions = 300;

const Model& model() {
  static const Model model = random_model(
      {.vocab_size = 61, .n_positions = kPositions, .n_embd = 24, .n_layer = 2, .n_head = 2},
      {.dtype = WeightType::f32});
  return model;
}

// Options for a text of exactly this many tokens.
GenerationOptions endless(std::size_t max_new_tokens) {
  GenerationOptions options{.max_new_tokens = max_new_tokens};
  options.ignore_eos = true;
  return options;
}

// The tokens of a text, and how it ended.
struct Outcome {
  Ids tokens;
  Ids streamed;
  std::string reason;  // the finish reason, or what was thrown
  std::uint64_t hash = 0;
  std::size_t prompt_tokens = 0;
  std::size_t dropped = 0;

  bool operator==(const Outcome&) const = default;
};

// A text to write. Its sink ends it after `stop_after` tokens, by returning false or by throwing.
struct Job {
  Ids prompt;
  GenerationOptions options;
  std::size_t stop_after = SIZE_MAX;
  bool throws = false;

  [[nodiscard]] std::function<bool(TokenId)> sink(Ids& streamed) const {
    return [this, &streamed](TokenId token) {
      streamed.push_back(token);
      if (streamed.size() < stop_after) return true;
      return throws ? throw std::runtime_error("enough") : false;
    };
  }
};

template <class Call>
Outcome outcome_of(const Ids& streamed, const Call& call) {
  Outcome outcome;
  try {
    const GenerationResult result = call();
    outcome = {result.tokens,
               {},
               std::string(name_of(result.finish_reason)),
               result.logits_hash,
               result.prompt_tokens,
               result.dropped_tokens};
  } catch (const std::exception& error) {
    outcome.reason = error.what();
  }
  outcome.streamed = streamed;
  return outcome;
}

// Writes the text alone and without drafts.
Outcome alone(Job job) {
  job.options.draft.reset();
  job.options.prompt_lookup = false;
  Session session(model());
  Ids streamed;
  return outcome_of(streamed,
                    [&] { return generate(session, job.prompt, job.options, job.sink(streamed)); });
}

// Returns a draft model: a copy in int8 or f16, the first of the two layers, or both layers with
// too few positions for some texts.
const Model& random_draft(Dice& dice) {
  static const Model drafts[] = {model().to(WeightType::int8), test::part_of(model(), 2, 150),
                                 test::part_of(model(), 1, kPositions),
                                 random_model(model().config(), {.dtype = WeightType::f16})};
  return drafts[dice.up_to(3)];
}

// Returns a job. Many of the prompts are prefixes of others.
Job random_job(Dice& dice) {
  static const Ids texts[] = {test::random_tokens(model(), kPositions + 1, 1),
                              test::random_tokens(model(), kPositions + 1, 2)};
  const Ids& text = texts[dice.up_to(1)];
  const std::size_t length = dice.one_in(4) ? dice.up_to(kPositions + 1) : dice.up_to(40);
  Job job{.prompt = {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)},
          .options = {}};
  if (dice.one_in(20)) job.prompt.push_back(61);  // outside the vocabulary
  GenerationOptions& options = job.options;
  options.max_new_tokens = dice.one_in(5) ? dice.up_to(kPositions) : dice.up_to(20);
  options.sampling.temperature = dice.one_in(3) ? 0.0f : 1.0f;
  options.sampling.seed = dice.up_to(3);
  options.sampling.sequence = dice.up_to(3);
  if (dice.one_in(3)) options.sampling.repetition_penalty = 1.5f;
  if (dice.one_in(3)) options.sampling.min_new_tokens = 5;
  if (dice.one_in(3)) options.stop_tokens = {7, 9};
  if (dice.one_in(3)) options.overflow = Overflow::slide;
  if (dice.one_in(3)) options.prompt_lookup = true;
  if (dice.one_in(2)) options.draft = random_draft(dice);
  options.constant_draft = dice.one_in(2);
  options.max_draft_tokens = 1 + dice.up_to(5);
  options.hash_logits = true;
  if (dice.one_in(5)) job.stop_after = 1 + dice.up_to(10);
  job.throws = dice.one_in(2);
  return job;
}

}  // namespace

TEST_CASE("texts that share passes equal texts written alone") {
  for (unsigned seed = 0; seed < (test::is_slow() ? 6 : 12); ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    // The keys and values of a text and of its draft.
    const std::size_t one = 2 * Session::memory_bytes(model().config(), KVType::f32, kPositions);
    const SchedulerOptions options = {.max_memory = one * (1 + dice.up_to(4)),
                                      .max_sequences = 1 + dice.up_to(7)};
    Scheduler scheduler(Engine(model(), {.threads = 1 + static_cast<int>(seed % 3)}), options);
    std::vector<Job> jobs;
    for (int i = 0; i < 40; ++i) jobs.push_back(random_job(dice));
    std::vector<Ids> streamed(jobs.size());
    std::vector<std::future<GenerationResult>> results;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      results.push_back(
          scheduler.submit(jobs[i].prompt, jobs[i].options, jobs[i].sink(streamed[i])));
      for (std::size_t steps = dice.up_to(6); steps > 0; --steps) scheduler.step();
    }
    scheduler.run();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Outcome found = outcome_of(streamed[i], [&] { return results[i].get(); });
      const Outcome expected = alone(jobs[i]);
      CAPTURE(i, found.reason, expected.reason);
      CHECK(found == expected);
    }
  }
}

TEST_CASE("texts draft together, but for one that is too long for the draft model") {
  const Ids prompt = test::random_tokens(model(), 100, 5);
  for (const Model& draft : {model(), test::part_of(model(), 2, kPositions - 1)}) {
    Scheduler scheduler{Engine(model(), {.threads = 2})};
    std::vector<std::future<GenerationResult>> results;
    GenerationOptions options = endless(21);
    options.draft = draft;
    options.constant_draft = true;
    options.max_draft_tokens = 4;
    for (std::size_t i = 0; i < 5; ++i) {
      options.sampling.sequence = i;
      results.push_back(scheduler.submit(prompt, options, nullptr));
    }
    options.draft = test::part_of(model(), 2, 50);
    auto too_long = scheduler.submit(prompt, options, nullptr);
    auto other = scheduler.submit(Ids{1}, options, nullptr);
    std::size_t passes = 0;
    while (scheduler.step()) ++passes;
    CHECK(passes <= 25);  // 21 of them for the text without drafts
    CHECK(too_long.get().drafted_tokens == 0);
    results.push_back(std::move(other));
    for (auto& future : results) {
      const GenerationResult result = future.get();
      CHECK(result.tokens.size() == 21);
      CHECK(result.drafted_tokens >= 15);  // the first text writes two tokens without drafts
      CHECK(result.accepted_tokens == result.drafted_tokens);
    }
  }
}

TEST_CASE("texts that other threads submit meanwhile equal texts written alone") {
  Scheduler scheduler(Engine(model(), {.threads = 2}), {.max_sequences = 5});
  constexpr std::size_t kThreads = 3, kJobs = 20;
  std::vector<std::vector<std::pair<Job, std::future<GenerationResult>>>> work(kThreads);
  std::vector<std::thread> threads;
  std::atomic<std::size_t> ended{0};
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Dice dice(static_cast<unsigned>(100 + t));
      for (std::size_t i = 0; i < kJobs; ++i) {
        const Job job = random_job(dice);
        work[t].emplace_back(job, scheduler.submit(job.prompt, job.options, nullptr));
      }
      ++ended;
    });
  }
  while (ended < kThreads) scheduler.step();
  for (std::thread& thread : threads) thread.join();
  scheduler.run();
  for (auto& jobs : work) {
    for (auto& [job, result] : jobs) {
      job.stop_after = SIZE_MAX;
      Outcome expected = alone(job);
      expected.streamed.clear();
      CHECK(outcome_of({}, [&future = result] { return future.get(); }) == expected);
    }
  }
}

TEST_CASE("a scheduler refuses what generate() refuses, with the same messages") {
  const Ids fits = test::random_tokens(model(), kPositions, 1);
  Ids too_long = fits;
  too_long.push_back(1);
  Ids unknown = too_long;
  unknown.back() = 61;  // outside the vocabulary
  std::vector<Job> jobs = {
      {fits, {.max_new_tokens = 5, .sampling = {.temperature = -1.0f}}},
      {fits, {.max_new_tokens = 5, .max_draft_tokens = 0}},
      {too_long, {.max_new_tokens = 5, .overflow = static_cast<Overflow>(2)}},
      {unknown, {.max_new_tokens = 5, .overflow = Overflow::slide, .top_logprobs = 62}},
      {too_long, {.max_new_tokens = 5, .overflow = Overflow::slide, .keep = 299}}};
  for (const Ids& prompt : {Ids(), Ids{61}, too_long, unknown}) {
    for (const Overflow overflow : {Overflow::stop, Overflow::slide}) {
      jobs.push_back({prompt, {.max_new_tokens = 5, .overflow = overflow}});
    }
  }
  Scheduler scheduler{Engine(model())};
  auto donor = scheduler.submit(fits, {.max_new_tokens = 0}, nullptr);
  scheduler.run();  // its session has the beginning of the other prompts
  CHECK(donor.get().tokens.empty());
  for (const Job& job : jobs) {
    auto result = scheduler.submit(job.prompt, job.options, nullptr);
    scheduler.run();
    const Outcome outcome = outcome_of({}, [&] { return result.get(); });
    CHECK(outcome.reason.find(' ') != std::string::npos);  // a message, not a finish reason
    CHECK(outcome == alone(job));
  }
}

TEST_CASE("texts share passes, and the tokens that their prompts have in common") {
  std::size_t passes = 0;
  Scheduler scheduler{Engine(model())};
  const Ids prompt = test::random_tokens(model(), 200, 5);
  std::vector<std::future<GenerationResult>> results;
  std::size_t read_again = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    GenerationOptions options{.max_new_tokens = 10, .sampling = {.sequence = i}};
    options.ignore_eos = true;
    options.on_prompt = [&, first = true](std::size_t read, std::size_t total) mutable {
      if (std::exchange(first, false)) read_again += total - read;
      return true;
    };
    results.push_back(scheduler.submit(prompt, options, nullptr));
  }
  while (scheduler.step()) ++passes;
  CHECK(read_again == 200 + 7);  // the last token of a prompt is read by each
  CHECK(passes <= 12);
  // A later text finds them as well.
  read_again = 0;
  GenerationOptions options{.max_new_tokens = 1};
  options.on_prompt = [&](std::size_t read, std::size_t total) {
    if (read < total) read_again += total - read;
    CHECK(total == 200);
    return true;
  };
  results.push_back(scheduler.submit(prompt, options, nullptr));
  scheduler.run();
  CHECK(read_again == 1);
}

TEST_CASE("a text that waits ends as soon as it is not wanted any more") {
  Scheduler scheduler(Engine(model()), {.max_sequences = 1});
  GenerationOptions options = endless(20);
  auto first = scheduler.submit(Ids{1}, options, nullptr);
  bool is_wanted = true, throws = false;
  TextTarget target(std::nullopt, nullptr, [](TokenId) { return true; });
  target.is_wanted = [&] { return is_wanted; };
  auto waiting = scheduler.submit(Ids{2, 3}, options, target);
  target.is_wanted = [&] { return throws ? throw std::runtime_error("gone") : true; };
  auto throwing = scheduler.submit(Ids{4}, options, target);
  auto last = scheduler.submit(Ids{5}, options, nullptr);
  const auto is_ready = [](auto& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  CHECK(scheduler.step());
  CHECK(!is_ready(waiting));
  CHECK(scheduler.stats().waiting == 3);
  is_wanted = false;
  throws = true;
  CHECK(scheduler.step());
  CHECK(scheduler.stats().waiting == 1);
  REQUIRE(is_ready(waiting));
  const GenerationResult result = waiting.get();
  CHECK(result.finish_reason == FinishReason::cancelled);
  CHECK(result.tokens.empty());
  CHECK(result.prompt_tokens == 2);
  REQUIRE(is_ready(throwing));
  CHECK_THROWS_AS(throwing.get(), std::runtime_error);
  scheduler.run();
  CHECK(first.get().tokens.size() == 20);
  CHECK(last.get().tokens.size() == 20);
}

TEST_CASE("a text whose keys and values need more than the bound is refused, others are written") {
  const Config& config = model().config();
  const std::size_t of_50 = Session::memory_bytes(config, KVType::f32, 50);
  const Model draft = test::part_of(model(), 1, kPositions);
  const std::size_t with_draft = of_50 + Session::memory_bytes(draft.config(), KVType::f32, 50);
  const struct {
    KVType type;
    std::optional<Model> draft;
    std::size_t bound;
    std::size_t fits;  // the most new tokens after a prompt of one
  } cases[] = {{KVType::f32, {}, of_50, 49},
               {KVType::f16, {}, of_50, 99},
               {KVType::f32, draft, with_draft, 49}};
  for (const auto& one : cases) {
    GenerationOptions options = endless(one.fits);
    options.draft = one.draft;
    Scheduler scheduler(Engine(model(), {.kv_type = one.type}), {.max_memory = one.bound});
    auto small = scheduler.submit(Ids{1}, options, nullptr);
    options.max_new_tokens += 100;
    auto large = scheduler.submit(Ids{1}, options, nullptr);
    scheduler.run();
    CHECK(small.get().tokens.size() == one.fits);
    check_bad_argument([&] { (void)large.get(); }, {"bytes", std::to_string(one.bound)});
  }
}

TEST_CASE("a scheduler that ends gives up its texts") {
  auto scheduler = std::make_unique<Scheduler>(Engine(model()));
  auto result = scheduler->submit(Ids{1}, {.max_new_tokens = 10}, nullptr);
  scheduler->step();
  scheduler.reset();
  CHECK_THROWS_AS(result.get(), std::future_error);
  CHECK_THROWS_AS(Scheduler(Engine(model()), {.max_sequences = 0}), Error);
}

}  // namespace gpt2::test::scheduler_test
