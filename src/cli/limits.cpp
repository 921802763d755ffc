#include "cli/limits.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/parallel.h"
#include "kernels/kernels.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;  // floats that a thread takes at a time
constexpr std::size_t kSteps = 50'000 * kLimitStep;   // of arithmetic that it does at a time
constexpr std::chrono::milliseconds kLong(50);        // enough for a burst of speed to end

// So that no compiler can tell that a result goes unused.
thread_local volatile float sink;

// What all threads together do in a second. A step does some of it, and returns how much.
template <class Step>
double rate_of(int threads, const Step& step) {
  std::atomic<double> rate = 0.0;
  parallel(threads, [&](Team& team) {
    team.barrier();
    const auto start = std::chrono::steady_clock::now();
    double sum = 0.0;
    std::chrono::duration<double> time;
    do {
      sum += static_cast<double>(step());
      time = std::chrono::steady_clock::now() - start;
    } while (time < kLong);
    rate += sum / time.count();
  });
  return rate;
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
  const auto read = [&] {
    sink = k.read_limit(memory_.data() + next_++ * kPiece % memory_.size(), kPiece);
    return kPiece * sizeof(float);
  };
  const auto compute = [](auto kernel) {
    return [kernel] {
      sink = kernel(kSteps);
      return kSteps;
    };
  };
  static_cast<void>(rate_of(threads_, read));  // what a cache can hold of it, it holds now
  return {.bytes = rate_of(threads_, read),
          .multiply_adds = kLanes * rate_of(threads_, compute(k.fma_limit)),
          .byte_products = 4 * kLanes * rate_of(threads_, compute(k.dot_limit))};
}

}  // namespace gpt2::cli
