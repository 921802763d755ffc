// Tests that an engine chooses walks while it runs, and that the choice changes no bit; and the
// contest between ways to do the same work, with times that the test makes up.
#include "gpt2/engine.h"
#include "gpt2/runtime.h"
#include "gpt2/session.h"
#include "model/contest.h"
#include "support/bundled_model.h"
#include "support/test.h"

namespace gpt2::test::walk_choices_test {

namespace {

std::vector<TokenId> tokens(std::size_t count) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<TokenId>(100 + i % 50));
  return ids;
}

/// The logits after each of `count` tokens, computed one by one.
std::vector<std::vector<float>> logits_of(const Engine& engine, std::size_t count) {
  std::vector<std::vector<float>> logits;
  Session session(engine);
  for (const TokenId token : tokens(count)) {
    const auto row = session.forward({&token, 1});
    logits.emplace_back(row.begin(), row.end());
  }
  return logits;
}

/// Runs the contest `runs` times. `seconds(way, run)` is the time of a run.
void hold(Contest& contest, std::size_t runs,
          const std::function<double(std::size_t way, std::size_t run)>& seconds) {
  for (std::size_t run = 0; run < runs; ++run) {
    if (contest.is_timed()) {
      contest.end_timed(seconds(contest.way(), run));
    } else {
      contest.end();
    }
  }
}

constexpr std::size_t kRound = Contest::kFirstRest + 2 * 3 * Contest::kPairs;  // of four ways

}  // namespace

TEST_CASE("the bits do not depend on the walks that an engine tries, or on packed weights") {
  for (const WeightType type : {WeightType::stored, WeightType::int8, WeightType::int4}) {
    const Model model = test::bundled::model().to(type);
    const auto one_by_one = logits_of(Engine(model, {.threads = 2}), 128);
    const auto check = [&](const Engine& engine, std::size_t count) {
      Session session(engine);
      CHECK(std::ranges::equal(session.forward(tokens(count)), one_by_one[count - 1]));
    };
    for (std::size_t count = 2; count <= 60; count += 7) {
      check(Engine(model, {.threads = 1}), count);  // a new engine has tried no walk yet
    }
    const Engine engine(model, {.threads = 2});
    // More than the contests between two walks take.
    for (int pass = 0; pass < 40; ++pass) check(engine, pass % 4 == 0 ? 5 : 3);
    const auto any_of_few = [&](auto&& has) {
      return std::ranges::any_of(engine.walks(), [&](const WalkChoice& choice) {
        return !choice.is_single_row && has(choice);
      });
    };
    const bool is_vector = isa_name() != "scalar";
    if (type != WeightType::stored) {  // the products of int4 are too small to be listed
      CHECK(any_of_few([](const auto&) { return true; }) ==
            (type == WeightType::int8 && is_vector));
      continue;
    }
    for (std::size_t count = 64; count <= 128; count += 2) check(engine, count);
    CHECK(any_of_few([](const WalkChoice& choice) {
            return choice.walk == "in place" || choice.walk == "packed";
          }) == is_vector);
  }
}

TEST_CASE("a contest finds the fastest way in its first round, and else keeps way 0") {
  struct Case {
    std::vector<double> seconds;  // of each way
    std::size_t runs, best;
    double gain;
  };
  for (const auto& [seconds, runs, best, gain] :
       {Case{{1.0, 1.2, 1.2, 1.2}, kRound, 0, 1.0}, Case{{1.2, 1.0, 1.2, 1.2}, kRound, 1, 1.2},
        Case{{1.2, 1.2, 1.0, 1.2}, kRound, 2, 1.2}, Case{{1.2, 1.2, 1.2, 1.0}, kRound, 3, 1.2},
        // not clearly faster
        Case{{1.0, Contest::kWinning, Contest::kWinning}, 10 * Contest::kMaxRest, 0, 1.0},
        // what the clock cannot tell apart
        Case{{0.0, 0.0}, 1000, 0, 1.0}}) {
    Contest contest(seconds.size());
    hold(contest, runs, [&](std::size_t way, std::size_t) { return seconds[way]; });
    CHECK(contest.best() == best);
    CHECK(std::abs(contest.gain() - gain) < 1e-12);
  }
}

TEST_CASE("a contest is not misled by runs that are held up, nor by a drift") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 100; ++trial) {
    Contest contest(4);
    hold(contest, kRound, [&](std::size_t way, std::size_t run) {
      const double drift = 1.0 + 0.01 * static_cast<double>(run);
      // One run in twenty takes up to ten times as long.
      const double held_up = random() % 20 == 0 ? 1.0 + static_cast<double>(random() % 10) : 1.0;
      return drift * held_up * (way == 2 ? 0.8 : 1.0);
    });
    CHECK(contest.best() == 2);
  }
}

TEST_CASE("a wrong choice is corrected after a rest") {
  Contest contest(3);
  hold(contest, kRound, [](std::size_t way, std::size_t) { return way == 1 ? 0.5 : 1.0; });
  CHECK(contest.best() == 1);
  hold(contest, Contest::kMaxRest + kRound,
       [](std::size_t way, std::size_t) { return way == 1 ? 1.5 : 1.0; });
  CHECK(contest.best() != 1);
  hold(contest, Contest::kMaxRest + kRound,
       [](std::size_t way, std::size_t) { return way == 1 ? 1.5 : 1.0; });
  CHECK(std::abs(contest.gain() - 1.0) < 1e-12);  // measured beside way 0 again
}

TEST_CASE("a contest compares only runs of the same size") {
  // Way 1 takes half as long for the same size. A comparison of sizes 1 and 4 would say otherwise.
  Contest contest(2);
  for (std::size_t run = 0; run < 1000 && contest.best() == 0; ++run) {
    const std::size_t size = run / 3 % 2 == 0 ? 1 : 4;  // pairs of equal and of different sizes
    const double seconds = static_cast<double>(size) * (contest.way() == 1 ? 0.5 : 1.0);
    contest.is_timed() ? contest.end_timed(seconds, size) : contest.end();
  }
  CHECK(contest.best() == 1);
  CHECK(std::abs(contest.gain() - 2.0) < 1e-12);

  Contest without_pairs(2);
  for (std::size_t run = 0; run < 1000; ++run) {
    const std::size_t size = 1 + run % 2;
    without_pairs.is_timed() ? without_pairs.end_timed(run % 2 == 0 ? 1.0 : 0.1, size)
                             : without_pairs.end();
  }
  CHECK(without_pairs.best() == 0);
}

}  // namespace gpt2::test::walk_choices_test
