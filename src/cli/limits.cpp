#include "cli/limits.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/parallel.h"
#include "kernels/kernels.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;  // floats that a thread takes at a time
constexpr std::size_t kSteps = 800'000 * kLimitStep;  // long enough for a burst of speed to end

// Seconds for all threads to have run `work`, the start of the threads not counted.
template <class Work>
double time_of(int threads, const Work& work) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start;
  Clock::time_point end;
  parallel(threads, [&](Team& team) {
    team.barrier();
    if (team.rank() == 0) start = Clock::now();
    work(team);
    team.barrier();
    if (team.rank() == 0) end = Clock::now();
  });
  return std::chrono::duration<double>(end - start).count();
}

// So that no compiler can tell that a result goes unused.
volatile float sink;

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
  const double fma = time_of(threads_, [&](Team&) { sink = k.fma_limit(kSteps); });
  const double dot = time_of(threads_, [&](Team&) { sink = k.dot_limit(kSteps); });
  const double lanes = static_cast<double>(kSteps * kLanes) * threads_;
  return {.bytes = static_cast<double>(memory_.size() * sizeof(float)) / read,
          .multiply_adds = lanes / fma,
          .byte_products = 4.0 * lanes / dot};
}

}  // namespace gpt2::cli
