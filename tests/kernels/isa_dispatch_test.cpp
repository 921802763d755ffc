// Tests the instruction sets: force_isa, and that each has a table for every kernel.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "gpt2/error.h"
#include "gpt2/runtime.h"
#include "kernels/kernels.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace gpt2::test::isa_dispatch_test {

TEST_CASE("force_isa swaps the table, and refuses an unavailable instruction set") {
  const std::string before(isa_name());
  if (std::getenv("GPT2_ISA") == nullptr) CHECK(before == available_isas().front());
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    CHECK(isa_name() == isa);
    CHECK(kernels().name == isa);
    CHECK(isa.starts_with(norm_kernels().name));  // "avx512_amx" has the table of "avx512"
  }
  force_isa(before);
  for (const char* const wrong : {"", "AVX2", "sse9"}) {
    check_refused([&] { force_isa(wrong); }, {"scalar"}, ErrorCode::unsupported);
  }
  CHECK(isa_name() == before);
}

TEST_CASE("every table is complete") {
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    // The tables consist of names, function pointers and the numbers of walks, which are not 0, and
    // of a flag for each walk.
    const auto count_missing = [](const auto& table) {
      const auto* const entry = reinterpret_cast<void* const*>(&table);
      return std::count(entry, entry + sizeof(table) / sizeof(void*), nullptr);
    };
    const auto count_zeros = [](const auto& walks) {
      std::size_t zeros = 3 * (kMaxWalks - walks.count);  // of walks that do not exist
      for (std::size_t i = 0; i < walks.count; ++i) zeros += !walks.walk[i].needs_threads;
      return static_cast<std::ptrdiff_t>(zeros);
    };
    const auto count_unused = [&](const auto&... walks) { return (... + count_zeros(walks)); };
    const Kernels& k = kernels();
    INFO(isa);
    CHECK(count_missing(k) ==
          count_unused(k.matmul_kn_f32, k.matmul_kn_f16, k.matmul_kn_bf16, k.matmul_chunks_kn_f32,
                       k.matmul_chunks_kn_f16, k.matmul_chunks_kn_bf16, k.matmul_nk_f32,
                       k.matmul_nk_f16, k.matmul_nk_bf16, k.matmul_int8, k.matmul_int4));
    CHECK(count_missing(norm_kernels()) == 0);
  }
  force_isa(available_isas().front());
}

}  // namespace gpt2::test::isa_dispatch_test
