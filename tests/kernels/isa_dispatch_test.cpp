// Tests the instruction sets: force_isa, and that each has a table for every kernel.
#include <algorithm>
#include <string>

#include "gpt2/error.h"
#include "gpt2/runtime.h"
#include "kernels/kernels.h"
#include "support/catch.h"

using namespace gpt2;

TEST_CASE("force_isa swaps the table, and refuses an unavailable instruction set") {
  const std::string before(isa_name());
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    CHECK(isa_name() == isa);
    CHECK(kernels().name == isa);
    CHECK(isa.starts_with(norm_kernels().name));  // "avx512_amx" has the table of "avx512"
  }
  force_isa(before);
  for (const char* const wrong : {"", "AVX2", "sse9"}) {
    try {
      force_isa(wrong);
      FAIL("force_isa accepted \"" << wrong << '"');
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::unsupported);
      CHECK(std::string(error.what()).find("scalar") != std::string::npos);
    }
  }
  CHECK(isa_name() == before);
}

TEST_CASE("every table is complete") {
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    // The tables consist of a name and function pointers only.
    const auto count_missing = [](const auto& table) {
      const auto* const entry = reinterpret_cast<void* const*>(&table);
      return std::count(entry, entry + sizeof(table) / sizeof(void*), nullptr);
    };
    INFO(isa);
    CHECK(count_missing(kernels()) == 0);
    CHECK(count_missing(norm_kernels()) == 0);
  }
  force_isa(available_isas().front());
}
