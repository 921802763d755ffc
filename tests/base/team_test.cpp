#include "base/team.h"

#include <atomic>
#include <numeric>
#include <thread>

#include "support/test.h"

namespace gpt2::test::team_test {

TEST_CASE("every index is visited once, and each step sees all results of the one before") {
  for (const int threads : {1, 2, 3, 8}) {
    std::vector<int> visits(1000);
    std::atomic<int> wrong{0};
    Team team(threads);
    for (int round = 0; round < 50; ++round) {
      team.for_each(visits.size(), [&](std::size_t i, int) { ++visits[i]; });
      // The previous step is over, so every element must have the value of this round.
      team.for_ranges(visits.size(), 64, [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t i = begin; i < end; ++i) {
          if (visits[visits.size() - 1 - i] != round + 1) ++wrong;
        }
      });
      if (std::accumulate(visits.begin(), visits.end(), 0) != (round + 1) * 1000) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("no two tasks that run at the same time have the same rank") {
  Team team(4);
  team.await_helpers();
  for (const int size : {4, 2, 3, 1, 100}) {
    team.resize(size);
    CHECK(team.size() == std::min(size, 4));
    std::vector<std::atomic<int>> users(4);
    std::atomic<int> wrong{0};
    for (int round = 0; round < 20; ++round) {
      team.for_each(64, [&](std::size_t, int rank) {
        if (rank < 0 || rank >= 4) ++wrong;  // a late helper may have a rank above the new size
        if (users[static_cast<std::size_t>(rank)]++ != 0) ++wrong;
        std::this_thread::yield();
        --users[static_cast<std::size_t>(rank)];
      });
    }
    CHECK(wrong == 0);
  }
}

// A step ends when its tasks are done, so that no thread waits for a helper that comes late.
TEST_CASE("steps proceed while helpers sleep, and helpers take part again") {
  Team team(3);
  std::size_t sum = 0;
  for (int round = 0; round < 30; ++round) {
    if (round % 10 == 9) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    std::vector<std::size_t> squares(50);
    team.for_each(squares.size(), [&](std::size_t i, int) { squares[i] = i * i; });
    sum += std::accumulate(squares.begin(), squares.end(), std::size_t{0});
  }
  CHECK(sum == 30 * 40425);
}

TEST_CASE("several threads may each use a team of their own at the same time") {
  std::vector<std::size_t> sums(4);
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < sums.size(); ++caller) {
    callers.emplace_back([&, caller] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        Team team(2);
        std::atomic<std::size_t> sum{0};
        team.for_each(100, [&](std::size_t i, int) { sum += i; });
        team.for_each(100, [&](std::size_t i, int) { sum += i; });
        sums[caller] += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::size_t sum : sums) CHECK(sum == 20 * 9900);
}

TEST_CASE("a team may end at any time after a step") {
  for (int round = 0; round < 100; ++round) {
    Team team(3);
    std::atomic<std::size_t> sum{0};
    for (int step = 0; step < round % 4; ++step) {
      team.for_each(8, [&](std::size_t i, int) { sum += i; });
    }
    REQUIRE(sum == static_cast<std::size_t>(round % 4) * 28);
  }
}

}  // namespace gpt2::test::team_test
