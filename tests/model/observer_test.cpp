// Compares what an observer of a pass sees with HuggingFace's numbers; inspect_test does so for the
// statistics of the norms. intervention_test checks that it has the same bits for any batch,
// division of the text, number of threads and instruction set.
#include "gpt2/observer.h"

#include <numbers>
#include <stdexcept>

#include "model/transformer.h"
#include "support/golden.h"
#include "support/passes.h"
#include "support/seen.h"
#include "support/test.h"

namespace gpt2::test::observer_test {

namespace {

const std::filesystem::path kOracle = std::filesystem::path(GPT2_TEST_DATA) / "oracle";

// The linear layer's outputs, computed in double.
std::vector<double> project(const Linear& linear, const std::vector<float>& rows) {
  const auto [k, n] = std::pair(linear.weight.k, linear.weight.n);
  std::vector<float> weight(k * n);
  widen_kernel (*linear.weight.float_type())(weight.data(), linear.weight.data, k * n);
  std::vector<double> result;
  for (std::size_t row = 0; row < rows.size() / k; ++row) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = linear.bias.data()[j];
      for (std::size_t i = 0; i < k; ++i) {
        sum += static_cast<double>(rows[row * k + i]) * weight[i * n + j];
      }
      result.push_back(sum);
    }
  }
  return result;
}

// Returns the numbers of layer `i` in a tensor whose first axis has `count` layers.
std::vector<double> part(const std::vector<double>& all, std::size_t i, std::size_t count) {
  const auto size = static_cast<std::ptrdiff_t>(all.size() / count);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i) * size;
  return {begin, begin + size};
}

// oracle_test derives the tolerance.
void check_near(std::span<const float> actual, const std::vector<double>& expected) {
  REQUIRE(actual.size() == expected.size());
  const double tolerance = 2e-5 * std::max(1.0, range_of(expected));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(static_cast<double>(actual[i]) - expected[i]) <= tolerance);
  }
}

// Returns the lower triangle of each (size, size) matrix in `square`: row i has i + 1 numbers.
std::vector<double> triangle(const std::vector<double>& square, std::size_t size) {
  std::vector<double> rows;
  for (std::size_t i = 0; i < size; ++i) {
    const auto begin = square.begin() + static_cast<std::ptrdiff_t>(i * size);
    rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return rows;
}

// Columns [begin, begin + count) of rows of `width`.
template <class T>
std::vector<T> columns(const std::vector<T>& rows, std::size_t width, std::size_t begin,
                       std::size_t count) {
  std::vector<T> part;
  for (auto row = rows.begin(); row != rows.end(); row += static_cast<std::ptrdiff_t>(width)) {
    const auto first = row + static_cast<std::ptrdiff_t>(begin);
    part.insert(part.end(), first, first + static_cast<std::ptrdiff_t>(count));
  }
  return part;
}

// norm(x), computed in double from HuggingFace's statistics. x: (tokens, n_embd); `norm` is one of
// ln_1, ln_2 and ln_f of all blocks, in the order of the pass.
std::vector<double> normalized(const std::vector<double>& x, const LayerNorm& layer_norm,
                               const Golden& golden, const nlohmann::json& names, std::size_t norm,
                               std::size_t n_layer) {
  const auto mean = part(golden.tensor(names.at("ln_mean")), norm, 2 * n_layer + 1);
  const auto rstd = part(golden.tensor(names.at("ln_rstd")), norm, 2 * n_layer + 1);
  const std::size_t n_embd = x.size() / mean.size();
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t row = i / n_embd, column = i % n_embd;
    y.push_back((x[i] - mean[row]) * rstd[row] * layer_norm.weight.data()[column] +
                layer_norm.bias.data()[column]);
  }
  return y;
}

// GPT-2's activation, by its formula. https://arxiv.org/abs/1606.08415
std::vector<double> gelu_new(std::vector<double> x) {
  for (double& v : x) {
    v *= 0.5 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
  }
  return x;
}

// Compares what a block computes between its norms and its outputs.
void check_inputs(const Seen& seen, const Golden& golden, const nlohmann::json& names,
                  const Block& block, std::size_t layer, std::size_t n_layer) {
  std::vector<double> x = part(golden.tensor(names.at("hidden_states")), layer, n_layer + 1);
  const std::vector<float>& normed = seen.at(Observed::ln_1_output, layer);
  check_near(normed, normalized(x, block.ln_1, golden, names, 2 * layer, n_layer));
  const std::vector<double> qkv = project(block.attn.c_attn, normed);
  const std::size_t n_embd = block.attn.c_proj.weight.n;
  std::size_t begin = 0;
  for (const Observed what : {Observed::queries, Observed::keys, Observed::values}) {
    check_near(seen.at(what, layer), columns(qkv, 3 * n_embd, begin, n_embd));
    begin += n_embd;
  }
  const auto added = part(golden.tensor(names.at("attn_out")), layer, n_layer);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += added[i];
  check_near(seen.at(Observed::block_middle, layer), x);
  check_near(seen.at(Observed::ln_2_output, layer),
             normalized(x, block.ln_2, golden, names, 2 * layer + 1, n_layer));
  const std::vector<double> hidden = project(block.mlp.c_fc, seen.at(Observed::ln_2_output, layer));
  check_near(seen.at(Observed::mlp_preactivations, layer), hidden);
  check_near(seen.at(Observed::mlp_activations, layer), gelu_new(hidden));
  check_near(seen.at(Observed::mlp_output, layer),
             project(block.mlp.c_proj, seen.at(Observed::mlp_activations, layer)));
}

void check_case(const Golden& golden, const nlohmann::json& entry) {
  const Model model = Model::load(kOracle / "cases" / entry.at("model").get<std::string>());
  const auto [n_layer, n_head] = std::pair(model.config().n_layer, model.config().n_head);
  const std::vector<TokenId> ids = ids_of(entry.at("input_ids"));
  Session session(model);
  Seen seen;
  const Slice slice = {&session, ids, {}};
  forward({&slice, 1}, seen.observer());

  const nlohmann::json& names = entry.at("t");
  const std::vector<double> states = golden.tensor(names.at("hidden_states"));
  check_near(seen.at(Observed::embeddings, 0), part(states, 0, n_layer + 1));
  check_near(seen.at(Observed::ln_f_output, n_layer), part(states, n_layer, n_layer + 1));
  const std::vector<double> attentions = golden.tensor(names.at("attentions"));
  for (std::size_t layer = 0; layer < n_layer; ++layer) {
    CAPTURE(layer);
    check_near(seen.at(Observed::block_output, layer), layer + 1 < n_layer
                                                           ? part(states, layer + 1, n_layer + 1)
                                                           : golden.tensor(names.at("pre_ln_f")));
    check_near(seen.at(Observed::attn_output, layer),
               part(golden.tensor(names.at("attn_out")), layer, n_layer));
    check_near(seen.at(Observed::attn_output, layer),
               project(model.transformer()->blocks[layer].attn.c_proj,
                       seen.at(Observed::head_outputs, layer)));
    check_near(seen.at(Observed::mlp_output, layer),
               part(golden.tensor(names.at("mlp_out")), layer, n_layer));
    check_inputs(seen, golden, names, model.transformer()->blocks[layer], layer, n_layer);
    for (std::size_t head = 0; head < n_head; ++head) {
      CAPTURE(head);
      check_near(seen.at(Observed::attention_weights, layer, head),
                 triangle(part(attentions, layer * n_head + head, n_layer * n_head), ids.size()));
    }
  }
}

}  // namespace

TEST_CASE("an observer sees what HuggingFace computes") {
  const Golden golden(kOracle / "inside/inside.json");
  REQUIRE(golden.json.at("cases").size() >= 6);
  for (const nlohmann::json& entry : golden.json.at("cases")) {
    INFO(entry.at("id").get<std::string>());
    check_case(golden, entry);
  }
}

TEST_CASE("an exception of an observer reaches the caller after the pass") {
  Session session(odd_model());
  Session plain(odd_model());
  const std::vector<TokenId> ids = {1, 2, 3};
  const Slice slice = {&session, ids, {}};
  int calls = 0;
  const auto see = [&](const Observation&) {
    ++calls;
    throw std::runtime_error("enough");
  };
  CHECK_THROWS_WITH(forward({&slice, 1}, {.see = see}), "enough");
  CHECK(calls == 1);
  CHECK(session.position() == ids.size());
  static_cast<void>(plain.forward(ids));
  CHECK(same_bits(session.forward(ids), plain.forward(ids)));
  check_bad_argument([&] { forward({&slice, 1}, Observer{}); }, {"see", "change"});
  CHECK(session.position() == 2 * ids.size());
  forward({}, {.see = see});
  CHECK(calls == 1);
}

}  // namespace gpt2::test::observer_test
