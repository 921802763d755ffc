// Tests which instruction set a new process uses, with the variable GPT2_ISA and without it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "gpt2/error.h"
#include "gpt2/runtime.h"
#include "support/catch.h"

namespace gpt2::test::isa_variable_posix_test {

namespace {

/// Starts a process with GPT2_ISA set and returns what it reports: the name of the instruction set
/// in use, or the error. This process itself must not have asked before, so the tests that call
/// this function come first.
std::string isa_chosen_with(const char* gpt2_isa) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("GPT2_ISA", gpt2_isa, 1);
    std::string said;
    try {
      said = isa_name();
    } catch (const Error& error) {
      said = error.what();
    }
    const bool written = write(ends[1], said.data(), said.size()) >= 0;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string said(1000, '\0');
  const ssize_t size = read(ends[0], said.data(), said.size());
  close(ends[0]);
  waitpid(child, nullptr, 0);
  said.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return said;
}

}  // namespace

TEST_CASE("the best available instruction set is chosen, and scalar is always available") {
  const std::vector<std::string> isas = available_isas();
  REQUIRE(!isas.empty());
  CHECK(isas.back() == "scalar");
  CHECK(isa_chosen_with("") == isas.front());
}

TEST_CASE("GPT2_ISA chooses the instruction set, and an unavailable one is refused") {
  for (const std::string& isa : available_isas()) {
    CHECK(isa_chosen_with(isa.c_str()) == isa);
  }
  CHECK(isa_chosen_with("avx1024").find("avx1024") != std::string::npos);
}

}  // namespace gpt2::test::isa_variable_posix_test
