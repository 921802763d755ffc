#include "cli/limits.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "kernels/kernels.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;  // floats that a thread takes at a time
constexpr std::size_t kSteps = 50'000 * kLimitStep;   // of arithmetic that it does at a time
constexpr std::chrono::milliseconds kLong(50);        // enough for a burst of speed to end

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Seconds for all threads to have run `work`, the start of the threads not counted.
template <class Work>
double time_of(int threads, const Work& work) {
  Clock::time_point start;
  Clock::time_point end;
  parallel(threads, [&](Team& team) {
    team.barrier();
    if (team.rank() == 0) start = Clock::now();
    work(team);
    team.barrier();
    if (team.rank() == 0) end = Clock::now();
  });
  return Seconds(end - start).count();
}

// So that no compiler can tell that a result goes unused.
volatile float sink;

// Steps of `kernel` in a second, by all threads together.
double rate_of(int threads, float (*kernel)(std::size_t count) noexcept) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  parallel(threads, [&](Team& team) {
    team.barrier();
    const auto start = Clock::now();
    double steps = 0.0;
    Seconds time;
    do {
      sink = kernel(kSteps);
      steps += static_cast<double>(kSteps);
      time = Clock::now() - start;
    } while (time < kLong);
    rates[static_cast<std::size_t>(team.rank())] = steps / time.count();
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

LimitMeter::LimitMeter(int threads, std::size_t bytes)
    : threads_(threads), memory_((bytes / sizeof(float) + kPiece - 1) / kPiece * kPiece) {
  parallel(threads, [&](Team& team) {
    team.for_ranges(memory_.size(), kPiece, [&](std::size_t begin, std::size_t end) {
      std::fill(memory_.data() + begin, memory_.data() + end, 1.0f);
    });
  });
}

Work LimitMeter::measure() {
  const Kernels& k = kernels();
  const auto read_all = [&](Team& team) {
    team.for_ranges(memory_.size(), kPiece, [&](std::size_t begin, std::size_t end) {
      sink = k.read_limit(memory_.data() + begin, end - begin);
    });
  };
  // What a cache can hold of it, it holds after a few times.
  double read = time_of(threads_, read_all);
  for (int i = 0; i < 3; ++i) read = std::min(read, time_of(threads_, read_all));
  return {.bytes = static_cast<double>(memory_.size() * sizeof(float)) / read,
          .multiply_adds = kLanes * rate_of(threads_, k.fma_limit),
          .byte_products = 4 * kLanes * rate_of(threads_, k.dot_limit)};
}

}  // namespace gpt2::cli
