#include "cli/bench/limit_meter.h"

#include <algorithm>
#include <chrono>

#include "base/team.h"
#include "kernels/kernels.h"

namespace gpt2 {
namespace {

// How many floats a thread reads before it checks the clock again: 1 MiB, which takes about 50 us.
constexpr std::size_t kMeasuredPiece = std::size_t{1} << 18;

// How many steps of arithmetic a thread does before it checks the clock again. They take about the
// same time as reading kMeasuredPiece floats.
constexpr std::size_t kSteps = 50'000 * kLimitStep;

// measure() divides its time equally among the ways to read and the two kinds of arithmetic. Each
// part is long enough for a short burst of higher CPU speed to end.
constexpr double kPartSeconds = LimitMeter::kSeconds / (kReadWays + 2);

// Returns how many steps all threads together do in a second. There is one task for each thread. A
// task takes so long that no thread finishes its own in time to take a second one.
template <class Step>
double rate_of(Team& team, const Step& step) {
  std::atomic<double> rate = 0.0;
  team.for_each(static_cast<std::size_t>(team.size()), [&](std::size_t, int) {
    const auto start = std::chrono::steady_clock::now();
    double steps = 0.0;
    std::chrono::duration<double> time;
    do {
      [[maybe_unused]] volatile float sink = step();  // keeps the compiler from dropping the call
      ++steps;
      time = std::chrono::steady_clock::now() - start;
    } while (time.count() < kPartSeconds);
    rate += steps / time.count();
  });
  return rate;
}

}  // namespace

LimitMeter::LimitMeter(int threads, std::size_t bytes)
    : team_(threads), memory_(round_up(bytes / sizeof(float), kMeasuredPiece)) {
  team_.for_ranges(memory_.size(), kMeasuredPiece, [&](std::size_t begin, std::size_t end, int) {
    std::fill(memory_.data() + begin, memory_.data() + end, 1.0f);
  });
}

Work LimitMeter::measure() {
  const Kernels& k = kernels();
  // The first way to read starts with cold caches. This affects only the first of many passes over
  // the memory.
  double pieces = 0.0;
  for (const auto read : k.read_limit) {
    pieces = std::max(pieces, rate_of(team_, [&] {
                        return read(memory_.data() + next_++ * kMeasuredPiece % memory_.size(),
                                    kMeasuredPiece);
                      }));
  }
  const double fmas = kSteps * kLanes * rate_of(team_, [&] { return k.fma_limit(kSteps); });
  const double dots = kSteps * kLanes * rate_of(team_, [&] { return k.dot_limit(kSteps); });
  return {.bytes = kMeasuredPiece * sizeof(float) * pieces,
          .flop = 2.0 * fmas,
          .int8_ops = 2.0 * 4.0 * dots};
}

}  // namespace gpt2
