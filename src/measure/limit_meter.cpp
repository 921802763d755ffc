#include "measure/limit_meter.h"

#include <algorithm>
#include <chrono>

#include "base/team.h"
#include "kernels/kernels.h"

namespace gpt2 {
namespace {

// The floats that a thread reads between two looks at the clock: 1 MiB, some 50 us.
constexpr std::size_t kPiece = std::size_t{1} << 18;

// The steps of arithmetic between two looks at the clock, of about the same time.
constexpr std::size_t kSteps = 50'000 * kLimitStep;

// Every way to read and both kinds of arithmetic share the time of measure() equally. Each part is
// long enough for a burst of speed to end.
constexpr double kPartSeconds = LimitMeter::kSeconds / (kReadWays + 2);

// How many steps all threads together do in a second: each takes one task, because a task lasts.
template <class Step>
double rate_of(Team& team, const Step& step) {
  std::atomic<double> rate = 0.0;
  team.for_each(static_cast<std::size_t>(team.size()), [&](std::size_t, int) {
    const auto start = std::chrono::steady_clock::now();
    double steps = 0.0;
    std::chrono::duration<double> time;
    do {
      [[maybe_unused]] volatile float sink = step();  // no compiler can tell that nobody reads it
      ++steps;
      time = std::chrono::steady_clock::now() - start;
    } while (time.count() < kPartSeconds);
    rate += steps / time.count();
  });
  return rate;
}

}  // namespace

LimitMeter::LimitMeter(int threads, std::size_t bytes)
    : team_(threads), memory_(round_up(bytes / sizeof(float), kPiece)) {
  team_.for_ranges(memory_.size(), kPiece, [&](std::size_t begin, std::size_t end, int) {
    std::fill(memory_.data() + begin, memory_.data() + end, 1.0f);
  });
}

Work LimitMeter::measure() {
  const Kernels& k = kernels();
  // The first way finds a cache cold, but only for the first of many times that it is read.
  double pieces = 0.0;
  for (const auto read : k.read_limit) {
    pieces = std::max(pieces, rate_of(team_, [&] {
                        return read(memory_.data() + next_++ * kPiece % memory_.size(), kPiece);
                      }));
  }
  const double fmas = kSteps * kLanes * rate_of(team_, [&] { return k.fma_limit(kSteps); });
  const double dots = kSteps * kLanes * rate_of(team_, [&] { return k.dot_limit(kSteps); });
  return {
      .bytes = kPiece * sizeof(float) * pieces, .flop = 2.0 * fmas, .int8_ops = 2.0 * 4.0 * dots};
}

}  // namespace gpt2
