#include "cli/limits.h"

#include <chrono>
#include <cstddef>

#include "base/parallel.h"
#include "kernels/kernels.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kMemoryFloats = std::size_t{3} << 26;  // 768 MiB
constexpr std::size_t kRounds = 300'000;

// Seconds for all threads to have run `work`.
template <class Work>
double time_of(int threads, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  parallel(threads, [&](Team& team) {
    work(team);
    team.barrier();
  });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// So that no compiler can tell that a result goes unused.
volatile float sink;

}  // namespace

LimitMeter::LimitMeter(int threads) : threads_(threads), memory_(kMemoryFloats) {
  parallel(threads, [&](Team& team) {
    team.for_ranges(kMemoryFloats, std::size_t{1} << 20, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) memory_.data()[i] = 1.0f;
    });
  });
}

Limits LimitMeter::measure() {
  const Kernels& k = kernels();
  const double read = time_of(threads_, [&](Team& team) {
    team.for_ranges(kMemoryFloats, std::size_t{1} << 18, [&](std::size_t begin, std::size_t end) {
      sink = k.read_limit(memory_.data() + begin, end - begin);
    });
  });
  const double fma = time_of(threads_, [&](Team&) { sink = k.fma_limit(kRounds); });
  const double dot = time_of(threads_, [&](Team&) { sink = k.dot_limit(kRounds); });
  const double chains = static_cast<double>(kRounds * kLimitChains * kLanes) * threads_;
  return {.read_bytes = static_cast<double>(kMemoryFloats * sizeof(float)) / read,
          .multiply_adds = chains / fma,
          .byte_products = 4.0 * chains / dot};
}

}  // namespace gpt2::cli
