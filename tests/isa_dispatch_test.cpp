// Which instruction set runs: the choice at the start, GPT2_ISA, and force_isa.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "gpt2/error.h"
#include "gpt2/runtime.h"
#include "kernels/kernels.h"
#include "support/catch.h"

using namespace gpt2;

namespace {

/// What this program says in a process of its own: the name in use, or the error.
std::string isa_in_new_process(const std::string& environment) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = environment + " '" + program + "' '[.print]' 2>&1 | grep '^isa: '";
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  pclose(pipe);
  return output;
}

}  // namespace

TEST_CASE("prints the instruction set, for the test below", "[.print]") {
  try {
    std::printf("isa: %s\n", std::string(isa_name()).c_str());
  } catch (const Error& error) {
    std::printf("isa: %s\n", error.what());
  }
}

TEST_CASE("the best available instruction set is chosen, scalar is always there") {
  const std::vector<std::string> isas = available_isas();
  REQUIRE(!isas.empty());
  CHECK(isas.back() == "scalar");
  CHECK(isa_in_new_process("GPT2_ISA=") == "isa: " + isas.front() + "\n");
}

TEST_CASE("GPT2_ISA chooses, and refuses what is not available") {
  for (const std::string& isa : available_isas()) {
    CHECK(isa_in_new_process("GPT2_ISA=" + isa) == "isa: " + isa + "\n");
  }
  const std::string refusal = isa_in_new_process("GPT2_ISA=avx1024");
  INFO(refusal);
  CHECK(refusal.find("GPT2_ISA") != std::string::npos);
  CHECK(refusal.find("avx1024") != std::string::npos);
  for (const std::string& isa : available_isas()) CHECK(refusal.find(isa) != std::string::npos);
}

TEST_CASE("force_isa swaps the table, and refuses what is not available") {
  const std::string before(isa_name());
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    CHECK(isa_name() == isa);
    CHECK(kernels().name == isa);
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
    // The table is a name and function pointers, nothing else.
    const auto* const entry = reinterpret_cast<void* const*>(&kernels());
    for (std::size_t i = 0; i < sizeof(Kernels) / sizeof(void*); ++i) {
      INFO(isa << ", entry " << i);
      CHECK(entry[i] != nullptr);
    }
  }
  force_isa(available_isas().front());
}
