// A process in whose environment GPT2_ISA names no instruction set: whatever part of the library
// it uses first either works without kernels or throws an Error that says so. Nothing terminates.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/error.h"
#include "gpt2/generate.h"
#include "gpt2/layer_norm.h"
#include "gpt2/model.h"
#include "gpt2/runtime.h"
#include "gpt2/sampler.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"
#include "support/alphabet_model.h"
#include "support/catch.h"

using namespace gpt2;

namespace {

// Before any object with a constructor, and so before the library can have asked.
__attribute__((constructor(101))) void set_bad_isa() { setenv("GPT2_ISA", "avx9", 1); }

// Expects an Error(unsupported) that names the variable, its value and what there is.
template <class Call>
void check_refused(const Call& call) {
  try {
    call();
    FAIL_CHECK("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    const std::string message = error.what();
    INFO(message);
    for (const char* const part : {"GPT2_ISA", "avx9", "scalar"}) {
      CHECK(message.find(part) != std::string::npos);
    }
  }
}

// Everything that a program does with a model whose text after "x" is known.
void check_everything_works() {
  const std::string directory = test::alphabet_model();
  const Model model = Model::load(directory);
  CHECK_NOTHROW(Model::load(directory, {.dtype = WeightType::int8}));
  const Tokenizer tokenizer = Tokenizer::load(directory);
  Session session(model);
  Session fork = session.fork();
  CHECK(fork.forward(tokenizer.encode("x")).size() == model.config().vocab_size);
  std::string text;
  generate(session, tokenizer, tokenizer.encode("x"),
           {.max_new_tokens = 2, .sampling = {.temperature = 0.0f}}, [&](std::string_view more) {
             text += more;
             return true;
           });
  CHECK(text == "yz");
  Sampler sampler({}, 3);
  CHECK(sampler.sample(std::vector<float>{-1e30f, 0.0f, -1e30f}, 0) == 1);
  LayerNorm norm({2});
  const Tensor y = norm(Tensor({2}, {-1.0f, 1.0f}));
  CHECK(y.values()[0] == -y.values()[1]);
}

}  // namespace

// The order matters: until force_isa, every test finds the process as it was at the start.
TEST_CASE("what needs no kernels works with a bad GPT2_ISA") {
  CHECK(available_isas().back() == "scalar");
  CHECK(thread_count() >= 1);
  const std::filesystem::path directory = test::alphabet_model();
  CHECK(Config::load(directory / "config.json").n_layer == 1);
  const Tokenizer tokenizer = Tokenizer::load(directory);
  CHECK(tokenizer.decode(tokenizer.encode("x")) == "x");
  CHECK(Tensor({2, 3}, 1.0f).size() == 6);
}

TEST_CASE("what needs kernels refuses a bad GPT2_ISA, every time") {
  const std::string directory = test::alphabet_model();
  for (int repeat = 0; repeat < 2; ++repeat) {
    check_refused([] { static_cast<void>(isa_name()); });
    check_refused([&] { static_cast<void>(Model::load(directory)); });
    check_refused([&] { static_cast<void>(Model::load(directory, {.dtype = WeightType::int8})); });
    check_refused([] { LayerNorm norm({8}); });
    check_refused([] { LayerNorm norm({8}, 1e-5f, false); });
    check_refused([] { Sampler sampler({}, 8); });
    check_refused([] { Sampler sampler({.temperature = 0.0f}, 8); });
  }
}

TEST_CASE("a LayerNorm that could be made with a bad GPT2_ISA can also be used") {
  check_refused([] {
    const LayerNorm norm({2});
    static_cast<void>(norm(Tensor({2}, {-1.0f, 1.0f})));
  });
}

TEST_CASE("a bad argument of force_isa leaves a bad GPT2_ISA as it is") {
  CHECK_THROWS_AS(force_isa("avx10"), Error);
  check_refused([] { static_cast<void>(isa_name()); });
}

TEST_CASE("force_isa makes up for a bad GPT2_ISA") {
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    CHECK(isa_name() == isa);
    check_everything_works();
  }
}
