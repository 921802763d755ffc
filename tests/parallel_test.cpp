#include "base/parallel.h"

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "gpt2/runtime.h"
#include "support/catch.h"

using gpt2::parallel;
using gpt2::Team;

TEST_CASE("every index is visited once, and each phase sees all of the one before") {
  for (const int threads : {1, 2, 3, 8}) {
    std::vector<int> visits(1000);
    std::atomic<int> wrong{0};
    parallel(threads, [&](Team& team) {
      for (int round = 0; round < 50; ++round) {
        team.for_each(visits.size(), [&](std::size_t i) { ++visits[i]; });
        // Nobody is still counting: every element must have the round's value.
        team.for_ranges(visits.size(), 64, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) {
            if (visits[visits.size() - 1 - i] != round + 1) ++wrong;
          }
        });
      }
    });
    CHECK(wrong == 0);
    CHECK(std::accumulate(visits.begin(), visits.end(), 0) == 50 * 1000);
  }
}

TEST_CASE("an empty range and a grain that does not divide are fine") {
  std::atomic<std::size_t> covered{0};
  parallel(3, [&](Team& team) {
    team.for_each(0, [&](std::size_t) { covered += 1000; });
    team.for_ranges(10, 4, [&](std::size_t begin, std::size_t end) { covered += end - begin; });
  });
  CHECK(covered == 10);
}

TEST_CASE("several threads may run a team each at the same time") {
  std::vector<std::size_t> sums(4);
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < sums.size(); ++caller) {
    callers.emplace_back([&, caller] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<std::size_t> sum{0};
        parallel(2, [&](Team& team) {
          team.for_each(100, [&](std::size_t i) { sum += i; });
          team.for_each(100, [&](std::size_t i) { sum += i; });
        });
        sums[caller] += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::size_t sum : sums) CHECK(sum == 20 * 9900);
}

TEST_CASE("there is at least one thread to use") { CHECK(gpt2::thread_count() >= 1); }
