// Tests that a scheduler's texts are bit for bit the ones that generate() writes alone, whatever
// the other texts, the pieces of the prompts, the shared prefixes and the limit on memory are.
#include <stdexcept>

#include "cli/bench/random_model.h"
#include "gpt2/scheduler.h"
#include "support/passes.h"
#include "support/test.h"

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
    std::vector<Text> results;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      results.push_back(
          scheduler.submit(jobs[i].prompt, jobs[i].options, jobs[i].sink(streamed[i])));
      for (std::size_t steps = dice.up_to(6); steps > 0; --steps) scheduler.step();
    }
    scheduler.run();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Outcome found = outcome_of(streamed[i], [&] { return results[i].take_result(); });
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
    std::vector<Text> results;
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
    CHECK(too_long.take_result().drafted_tokens == 0);
    results.push_back(std::move(other));
    for (Text& text : results) {
      const GenerationResult result = text.take_result();
      CHECK(result.tokens.size() == 21);
      CHECK(result.drafted_tokens >= 15);  // the first text writes two tokens without drafts
      CHECK(result.accepted_tokens == result.drafted_tokens);
    }
  }
}

TEST_CASE("a text in a session that is lent equals the one that generate() writes in it") {
  for (unsigned seed = 0; seed < (test::is_slow() ? 3 : 8); ++seed) {
    CAPTURE(seed);
    Dice dice(200 + seed);
    // The limits are for sessions of the scheduler's own.
    Scheduler scheduler(Engine(model(), {.threads = 1 + static_cast<int>(seed % 3)}),
                        {.max_memory = 1, .max_sequences = 1});
    std::vector<Session> lent, others;
    for (std::size_t i = 0; i < 5; ++i) {
      lent.emplace_back(model());
      lent.back().forward(test::random_tokens(model(), 1 + dice.up_to(50), seed));
      others.push_back(lent.back().fork());
    }
    for (int turn = 0; turn < 3; ++turn) {  // each continues the text of the one before
      std::vector<Job> jobs;
      std::vector<Ids> streamed(lent.size());
      std::vector<std::optional<Text>> texts(lent.size());
      for (std::size_t i = 0; i < lent.size(); ++i) jobs.push_back(random_job(dice));
      for (std::size_t i = 0; i < lent.size(); ++i) {
        try {
          const auto sink = jobs[i].sink(streamed[i]);
          texts[i] = scheduler.submit(lent[i], jobs[i].prompt, jobs[i].options,
                                      {std::nullopt, nullptr, sink});
        } catch (const Error& error) {
          Ids none;
          CHECK(error.what() == outcome_of(none, [&] {
                                  return generate(others[i], jobs[i].prompt, jobs[i].options,
                                                  jobs[i].sink(none));
                                }).reason);
        }
        for (std::size_t steps = dice.up_to(3); steps > 0; --steps) scheduler.step();
      }
      scheduler.run();
      for (std::size_t i = 0; i < lent.size(); ++i) {
        if (!texts[i]) continue;
        Ids expected;
        CHECK(outcome_of(streamed[i], [&] { return texts[i]->take_result(); }) ==
              outcome_of(expected, [&] {
                return generate(others[i], jobs[i].prompt, jobs[i].options, jobs[i].sink(expected));
              }));
        CHECK(std::ranges::equal(lent[i].tokens(), others[i].tokens()));
        CHECK(lent[i].waiting() == others[i].waiting());
        CHECK(lent[i].history().written == others[i].history().written);
      }
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
  Session session(test::part_of(model(), 1, kPositions));
  const TextTarget nobody(std::nullopt, nullptr, nullptr);
  check_bad_argument([&] { (void)scheduler.submit(session, Ids{1}, {}, nobody); },
                     {"another model"});
  auto donor = scheduler.submit(fits, {.max_new_tokens = 0}, nullptr);
  scheduler.run();  // its session has the beginning of the other prompts
  CHECK(donor.take_result().tokens.empty());
  for (const Job& job : jobs) {
    auto result = scheduler.submit(job.prompt, job.options, nullptr);
    scheduler.run();
    const Outcome outcome = outcome_of({}, [&] { return result.take_result(); });
    CHECK(outcome.reason.find(' ') != std::string::npos);  // a message, not a finish reason
    CHECK(outcome == alone(job));
  }
}

TEST_CASE("texts share passes, and the tokens that their prompts have in common") {
  std::size_t passes = 0;
  Scheduler scheduler{Engine(model())};
  const Ids prompt = test::random_tokens(model(), 200, 5);
  std::vector<Text> results;
  std::size_t read_again = 0;
  const auto submit = [&](std::size_t sequence) {
    GenerationOptions options = endless(10);
    options.sampling.sequence = sequence;
    options.on_prompt = [&, first = true](std::size_t read, std::size_t total) mutable {
      if (std::exchange(first, false)) read_again += total - read;
      return true;
    };
    results.push_back(scheduler.submit(prompt, options, nullptr));
  };
  for (std::size_t i = 0; i < 8; ++i) submit(i);
  while (scheduler.step()) ++passes;
  CHECK(read_again == 200 + 7);  // the last token of a prompt is read by each
  CHECK(passes <= 12);
  submit(8);  // a later text finds them as well
  scheduler.run();
  CHECK(read_again == 200 + 8);
}

TEST_CASE("prompts are scored as score() does it, also tokens that were computed before") {
  const Ids text = test::random_tokens(model(), 300, 6);
  const auto with_end = [&](std::size_t count, const Ids& end) {
    Ids prompt(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(count));
    prompt.insert(prompt.end(), end.begin(), end.end());
    return prompt;
  };
  const std::vector<Ids> prompts = {with_end(200, {}),     with_end(200, {}), with_end(199, {1, 2}),
                                    with_end(200, {3, 4}), with_end(5, {6}),  with_end(1, {}),
                                    with_end(300, {}),     with_end(2, {7})};
  for (const bool at_once : {true, false}) {
    Scheduler scheduler{Engine(model())};
    std::vector<std::vector<TokenLogprob>> found(prompts.size());
    std::vector<Text> texts;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      GenerationOptions options = endless(3);
      options.top_logprobs = i == 4 ? 1 : 2;
      if (i == 3) texts.push_back(scheduler.submit(prompts[i], options, nullptr));
      options.on_prompt_logprobs = [&found, i](auto scores) { found[i] = std::move(scores); };
      texts.push_back(scheduler.submit(prompts[i], options, nullptr));
      if (!at_once) scheduler.run();
    }
    scheduler.run();
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      CAPTURE(at_once, i);
      const auto expected =
          score(Engine(model()), {&prompts[i], 1}, {.top_logprobs = i == 4 ? 1u : 2u});
      REQUIRE(found[i].size() == prompts[i].size());
      CHECK(std::isnan(found[i][0].logprob));
      for (std::size_t j = 1; j < prompts[i].size(); ++j) {
        const TokenLogprob& one = expected.front().tokens[j];
        CHECK(found[i][j].logprob == one.logprob);
        CHECK(found[i][j].rank == one.rank);
        CHECK(std::ranges::equal(found[i][j].top, one.top, {}, &LikelyToken::id, &LikelyToken::id));
      }
    }
    CHECK(scheduler.stats().reused_tokens > 3 * 198);
  }
}

TEST_CASE("a text that is cancelled ends with what has been written, between passes at once") {
  Scheduler scheduler(Engine(model()), {.max_sequences = 2});
  std::size_t calls = 0;
  const auto count = [&](TokenId) { return ++calls > 0; };
  const TextTarget target(std::nullopt, nullptr, count);
  Session session(model()), other(model());
  session.forward(Ids{7});
  GenerationOptions options = endless(20);
  options.on_prompt = [&](std::size_t, std::size_t) { return ++calls > 0; };
  // A pass reads 512 tokens of prompts, so the second prompt takes two passes.
  Text running = scheduler.submit(other, test::random_tokens(model(), 280, 3), options, target);
  Text reading = scheduler.submit(session, test::random_tokens(model(), 250, 4), options, target);
  Text waiting = scheduler.submit(Ids{2, 3}, endless(20), count);
  Text last = scheduler.submit(Ids{5}, endless(20), nullptr);
  check_bad_argument([&] { (void)waiting.take_result(); }, {"has not ended"});
  CHECK(scheduler.step());
  CHECK(scheduler.stats().waiting == 2);
  const std::size_t before = calls;
  for (Text* const text : {&waiting, &reading, &running}) {
    CHECK(!text->finished());
    text->cancel();
    text->cancel();
    CHECK(text->finished());
    const GenerationResult result = text->take_result();
    CHECK(result.finish_reason == FinishReason::cancelled);
    CHECK(result.tokens.size() == (text == &running ? 1 : 0));
    CHECK(result.prompt_tokens == (text == &reading ? 250 : text == &waiting ? 2 : 280));
  }
  CHECK(std::ranges::equal(session.tokens(), Ids{7}));
  CHECK(other.position() == 281);
  CHECK(scheduler.stats().waiting == 1);
  CHECK(scheduler.stats().running == 0);
  CHECK(scheduler.stats().memory == 0);
  scheduler.run();
  CHECK(calls == before);
  last.cancel();  // has no effect
  CHECK(last.take_result().tokens.size() == 20);
}

// The texts share a pass, in which the second one, third one and so on are cancelled by the first
// one's sink, and the last one by itself.
TEST_CASE("a sink cancels and destroys texts, which then write nothing more") {
  const Model& draft = model();
  for (const bool is_destroyed : {false, true}) {
    for (const bool drafts : {false, true}) {
      CAPTURE(is_destroyed, drafts);
      Scheduler scheduler{Engine(model())};
      Session session(model());
      std::vector<std::optional<Text>> texts(4);
      std::vector<std::size_t> calls(4, 0);
      const auto end = [&](std::size_t i) {
        if (is_destroyed) {
          texts[i].reset();
        } else {
          texts[i]->cancel();
        }
      };
      for (std::size_t i = 0; i < texts.size(); ++i) {
        GenerationOptions options = endless(20);
        if (drafts) options.draft = draft;
        options.constant_draft = true;
        const auto sink = [&, i](TokenId) {
          ++calls[i];
          if (i == 0 && calls[0] == 4) end(1), end(2);
          if (i == 3 && calls[3] == 4) end(3);
          return true;
        };
        if (i == 2) {
          texts[i] = scheduler.submit(session, Ids{1, 2}, options, {std::nullopt, nullptr, sink});
        } else {
          texts[i] = scheduler.submit(Ids{1, 2}, options, sink);
        }
      }
      while (calls[0] < 4) scheduler.step();
      const std::vector<std::size_t> found = calls;
      CHECK(found[3] == 4);
      CHECK(session.position() == 2 + calls[2]);  // nobody uses it any more
      session.rewind(1);
      scheduler.run();
      CHECK(calls == std::vector<std::size_t>{20, found[1], found[2], 4});
      CHECK(texts[0]->take_result().tokens.size() == 20);
      for (std::size_t i = 1; i < texts.size() && !is_destroyed; ++i) {
        const GenerationResult result = texts[i]->take_result();
        CHECK(result.finish_reason == FinishReason::cancelled);
        CHECK(result.tokens.size() == calls[i]);
      }
    }
  }
}

// A program may own a text by the functions of another one.
TEST_CASE("a text whose functions own the handle of another one takes that one with it") {
  Scheduler scheduler(Engine(model()), {.max_sequences = 2});
  std::optional<Text> owner, waiting_owner;
  const auto own = [](Text text) {
    return
        [owned = std::make_shared<Text>(std::move(text))](TokenId) { return !owned->finished(); };
  };
  owner =
      scheduler.submit(Ids{1}, endless(20), own(scheduler.submit(Ids{2}, endless(20), nullptr)));
  waiting_owner =
      scheduler.submit(Ids{3}, endless(20), own(scheduler.submit(Ids{4}, endless(20), nullptr)));
  scheduler.step();
  CHECK(scheduler.stats().running == 2);
  CHECK(scheduler.stats().waiting == 2);
  owner.reset();
  waiting_owner.reset();
  CHECK(!scheduler.step());
  CHECK(scheduler.stats().running + scheduler.stats().waiting == 0);
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
    CHECK(small.take_result().tokens.size() == one.fits);
    check_bad_argument([&] { (void)large.take_result(); }, {"bytes", std::to_string(one.bound)});
  }
}

TEST_CASE("a handle that is destroyed or assigned to, or a scheduler that ends, cancels texts") {
  auto scheduler =
      std::make_unique<Scheduler>(Engine(model()), SchedulerOptions{.max_sequences = 1});
  std::size_t calls = 0;
  const auto count = [&](TokenId) { return ++calls > 0; };
  Text text = scheduler->submit(Ids{1}, endless(20), count);
  scheduler->step();
  { const Text waiting = scheduler->submit(Ids{1}, endless(20), count); }
  CHECK(scheduler->stats().waiting == 0);
  text = scheduler->submit(Ids{2}, endless(5), nullptr);
  CHECK(scheduler->stats().running == 0);
  Text moved = std::move(text);
  scheduler->run();
  CHECK(calls == 1);
  CHECK(moved.take_result().tokens.size() == 5);
  Text running = scheduler->submit(Ids{1}, endless(10), nullptr);
  Text waiting = scheduler->submit(Ids{1}, endless(10), nullptr);
  scheduler->step();
  scheduler.reset();
  CHECK(running.take_result().tokens.size() == 1);
  CHECK(waiting.take_result().finish_reason == FinishReason::cancelled);
  CHECK_THROWS_AS(Scheduler(Engine(model()), {.max_sequences = 0}), Error);
}

}  // namespace gpt2::test::scheduler_test
