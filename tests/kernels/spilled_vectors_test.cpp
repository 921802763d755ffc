// Tests that vectors which the compiler keeps on the stack survive there, however the stack is
// aligned. On Windows, GCC does not align it for vectors of 32 and 64 bytes (its bug 54412), so a
// build by another GCC than Debian's, which makes unaligned moves itself, would fault here without the
// assembler's -muse-unaligned-vector-move.
#if defined(__x86_64__)
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "gpt2/runtime.h"
#include "support/catch.h"

namespace gpt2::test::spilled_vectors_test {

namespace {

constexpr std::size_t kVectors = 40;  // more than there are registers

using Vec32 [[gnu::vector_size(32)]] = float;
using Vec64 [[gnu::vector_size(64)]] = float;

[[gnu::noinline]] void use_registers() { __asm__ volatile("" ::: "memory"); }

// Adds up kVectors vectors, all of which live across a call.
template <class Vec>
[[gnu::always_inline]] inline float sum_of_many(const float* x) {
  constexpr std::size_t kFloats = sizeof(Vec) / sizeof(float);
  Vec kept[kVectors];
  for (std::size_t i = 0; i < kVectors; ++i) std::memcpy(&kept[i], x + i * kFloats, sizeof(Vec));
  use_registers();
  Vec sum = kept[0];
  for (std::size_t i = 1; i < kVectors; ++i) sum = sum + kept[i];
  use_registers();
  float total = 0.0f;
  for (std::size_t lane = 0; lane < kFloats; ++lane) total += sum[lane];
  return total;
}

[[gnu::noinline, gnu::target("avx2")]] float sum_avx2(const float* x) {
  return sum_of_many<Vec32>(x);
}
[[gnu::noinline, gnu::target("avx512f")]] float sum_avx512(const float* x) {
  return sum_of_many<Vec64>(x);
}

// Calls f(x) with the stack at each multiple of 16 bytes in turn.
float at_every_alignment(float (*f)(const float*), const float* x) {
  float total = 0.0f;
  for (std::size_t bytes = 16; bytes <= 128; bytes += 16) {
    auto* const space = static_cast<volatile char*>(__builtin_alloca(bytes));
    space[0] = 1;
    total += f(x);
  }
  return total;
}

bool can_run(const char* isa) {
  const std::vector<std::string> isas = gpt2::available_isas();
  return std::ranges::find(isas, isa) != isas.end();
}

}  // namespace

TEST_CASE("vectors on the stack survive, however it is aligned") {
  std::vector<float> x(16 * kVectors);
  std::iota(x.begin(), x.end(), 0.0f);  // all sums are exact
  const auto sum = [&](std::size_t count) { return std::accumulate(&x[0], &x[0] + count, 0.0f); };
  CHECK(sum(2) == 1.0f);
  if (can_run("avx2")) CHECK(at_every_alignment(sum_avx2, x.data()) == 8 * sum(8 * kVectors));
  if (can_run("avx512")) CHECK(at_every_alignment(sum_avx512, x.data()) == 8 * sum(16 * kVectors));
}

}  // namespace gpt2::test::spilled_vectors_test
#endif
