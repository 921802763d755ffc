// In this process, GPT2_ISA names an instruction set that does not exist. Whichever part of the
// library the process uses first must either work, if it needs no kernels, or throw an Error that
// explains the problem. The process must never be terminated.
#include <cstdlib>

#include "gpt2/config.h"
#include "gpt2/generate.h"
#include "gpt2/layer_norm.h"
#include "gpt2/model.h"
#include "gpt2/runtime.h"
#include "gpt2/sampler.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"
#include "support/alphabet_model.h"
#include "support/test.h"

using namespace gpt2;

namespace {

// Runs before the constructors of static objects, and so before the library can read GPT2_ISA.
__attribute__((constructor(101))) void set_bad_isa() {
  static char variable[] = "GPT2_ISA=avx9";
  putenv(variable);
}

// Expects an Error(unsupported) that names the variable, its value and the available instruction
// sets.
template <class Call>
void check_refused(const Call& call) {
  test::check_refused(call, {"GPT2_ISA", "avx9", "scalar"}, ErrorCode::unsupported);
}

// Does everything that a program does with a model. The alphabet model's text after "x" is known.
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
  CHECK(sampler.sample(std::vector<float>{-1e30f, 0.0f, -1e30f}, {}) == 1);
  LayerNorm norm({2});
  const Tensor y = norm(Tensor({2}, {-1.0f, 1.0f}));
  CHECK(y.values()[0] == -y.values()[1]);
}

}  // namespace

// The order of the tests matters: until one of them calls force_isa with success, each test finds
// the process in its initial state.
TEST_CASE("functions that need no kernels work with a bad GPT2_ISA") {
  CHECK(available_isas().back() == "scalar");
  CHECK(thread_count() >= 1);
  const std::filesystem::path directory = test::alphabet_model();
  CHECK(Config::load(directory / "config.json").n_layer == 1);
  const Tokenizer tokenizer = Tokenizer::load(directory);
  CHECK(tokenizer.decode(tokenizer.encode("x")) == "x");
  CHECK(Tensor({2, 3}, 1.0f).size() == 6);
}

TEST_CASE("functions that need kernels refuse a bad GPT2_ISA every time") {
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

TEST_CASE("a bad argument of force_isa leaves a bad GPT2_ISA as it is") {
  CHECK_THROWS_AS(force_isa("avx10"), Error);
  check_refused([] { static_cast<void>(isa_name()); });
}

TEST_CASE("after force_isa, everything works in spite of a bad GPT2_ISA") {
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    CHECK(isa_name() == isa);
    check_everything_works();
  }
}
