// Tests changes of a pass by name: each gives the logits of a pass whose values are set by hand.
#include "gpt2/pass_change.h"

#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::pass_change_test {

namespace {

using enum PassChange::Kind;
using enum Observed;
using Places = std::set<std::pair<Observed, std::size_t>>;

std::vector<float> logits_of(const Observer& observer) {
  const std::vector<TokenId> text = random_tokens(odd_model(), 20, 3);
  std::vector<float> logits(text.size() * odd_model().config().vocab_size);
  Session session = session_of(odd_model(), 1);
  const Slice slice = {&session, text, logits};
  forward({&slice, 1}, observer);
  return logits;
}

std::vector<float> changed(const std::vector<std::pair<PassChange::Kind, std::string>>& named) {
  const Config& config = odd_model().config();
  std::vector<PassChange> changes;
  for (const auto& [kind, place] : named) {
    changes.push_back(read_change(kind, place, config, "the change"));
  }
  Observer observer;
  add_changes(observer, std::move(changes), config);
  return logits_of(observer);
}

std::vector<float> with(const Places& places, const std::function<void(std::span<float>)>& set) {
  const auto change = [&](const Intervention& values) {
    for (std::size_t i = 0; i < values.rows; ++i) set(values.row(i));
  };
  const auto changes = [&](Observed what, std::size_t layer) {
    return places.contains({what, layer});
  };
  return logits_of({.change = change, .changes = changes});
}

void zero(std::span<float> row) { std::ranges::fill(row, 0.0f); }

void identity(std::span<float> statistics) {
  statistics[0] = 0.0f;  // mean
  statistics[2] = 1.0f;  // rstd
}

}  // namespace

TEST_CASE("a named change has the logits of values that are set by hand") {
  const std::size_t n_layer = odd_model().config().n_layer;
  const std::size_t head_dim = odd_model().config().head_dim();
  CHECK(same_bits(changed({{skip_mlp, "1"}}), with({{mlp_output, 1}}, zero)));
  CHECK(same_bits(changed({{skip_layer, "0"}}), with({{attn_output, 0}, {mlp_output, 0}}, zero)));
  CHECK(same_bits(changed({{skip_head, "2.3"}}), with({{head_outputs, 2}}, [=](auto row) {
                    zero(row.subspan(3 * head_dim, head_dim));
                  })));
  for (const char* const place : {"ln_2.1", "h.1.ln_2"}) {
    CHECK(same_bits(changed({{identity_norm, place}}), with({{ln_2_statistics, 1}}, identity)));
  }
  CHECK(same_bits(changed({{identity_norm, "ln_1.0"}}), with({{ln_1_statistics, 0}}, identity)));
  CHECK(
      same_bits(changed({{identity_norm, "ln_f"}}), with({{ln_f_statistics, n_layer}}, identity)));
  CHECK(same_bits(changed({{skip_mlp, "0"}, {skip_mlp, "2"}}),
                  with({{mlp_output, 0}, {mlp_output, 2}}, zero)));
}

}  // namespace gpt2::test::pass_change_test
