// Tests that an engine chooses walks while it runs, and that the choice changes no bit.
#include <algorithm>
#include <vector>

#include "gpt2/engine.h"
#include "gpt2/runtime.h"
#include "gpt2/session.h"
#include "support/bundled_model.h"
#include "support/catch.h"

namespace gpt2::test::walk_choices_test {

namespace {

std::vector<TokenId> tokens(std::size_t count) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<TokenId>(100 + i % 50));
  return ids;
}

/// The logits after each of `count` tokens, computed one by one.
std::vector<std::vector<float>> logits_of(const Engine& engine, std::size_t count) {
  std::vector<std::vector<float>> logits;
  Session session(engine);
  for (const TokenId token : tokens(count)) {
    const auto row = session.forward({&token, 1});
    logits.emplace_back(row.begin(), row.end());
  }
  return logits;
}

}  // namespace

TEST_CASE("the bits do not depend on the walks that an engine tries, or on packed weights") {
  for (const WeightType type : {WeightType::stored, WeightType::int8, WeightType::int4}) {
    const Model model = test::bundled::model().to(type);
    const auto one_by_one = logits_of(Engine(model, {.threads = 2}), 128);
    const auto check = [&](const Engine& engine, std::size_t count) {
      Session session(engine);
      CHECK(std::ranges::equal(session.forward(tokens(count)), one_by_one[count - 1]));
    };
    for (std::size_t count = 2; count <= 60; count += 7) {
      check(Engine(model, {.threads = 1}), count);  // a new engine has tried no walk yet
    }
    const Engine engine(model, {.threads = 2});
    // More than the contests between two walks take.
    for (int pass = 0; pass < 40; ++pass) check(engine, pass % 4 == 0 ? 5 : 3);
    const auto any_of_few = [&](auto&& has) {
      return std::ranges::any_of(engine.walks(), [&](const WalkChoice& choice) {
        return !choice.is_single_row && has(choice);
      });
    };
    const bool is_vector = isa_name() != "scalar";
    if (type != WeightType::stored) {  // the products of int4 are too small to be listed
      CHECK(any_of_few([](const auto&) { return true; }) ==
            (type == WeightType::int8 && is_vector));
      continue;
    }
    for (std::size_t count = 64; count <= 128; count += 2) check(engine, count);
    CHECK(any_of_few([](const WalkChoice& choice) {
            return choice.walk == "in place" || choice.walk == "packed";
          }) == is_vector);
  }
}

}  // namespace gpt2::test::walk_choices_test
