// Tests inspect(): compares it with HuggingFace's numbers and with the definitions in
// gpt2/inspect.h, computed in double, and checks that it has the same bits for any number of
// threads.
#include "gpt2/inspect.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "gpt2/runtime.h"
#include "requests/answer/inspection.h"
#include "requests/run/run.h"
#include "support/golden.h"
#include "support/passes.h"
#include "support/seen.h"
#include "support/test.h"

namespace gpt2::test::inspect_test {

namespace {

// A tensor of HuggingFace's, by indices.
class Numbers {
 public:
  Numbers(const Golden& golden, const nlohmann::json& names, const char* name)
      : shape_(golden.shape(names.at(name))), values_(golden.tensor(names.at(name))) {}

  template <class... Index>
  [[nodiscard]] double operator()(Index... index) const {
    std::size_t at = 0, axis = 0;
    ((at = at * shape_.at(axis++) + static_cast<std::size_t>(index)), ...);
    return values_.at(at);
  }
  [[nodiscard]] double tolerance() const {  // as in oracle_test
    return 2e-5 * std::max(1.0, range_of(values_));
  }

 private:
  std::vector<std::size_t> shape_;
  std::vector<double> values_;
};

void check_near(double actual, double expected, double tolerance) {
  CAPTURE(actual, expected);
  CHECK(std::abs(actual - expected) <= tolerance);
}

// Compares the logit lens. Where the gap between HuggingFace's logits is so small that rounding may
// exchange tokens, only the log-probabilities are compared.
void check_lens(const Inspection& found, const Golden& golden, const nlohmann::json& names) {
  const Numbers ids(golden, names, "lens_ids"), probs(golden, names, "lens_probs");
  const Numbers margin(golden, names, "lens_margin"), token(golden, names, "token");
  for (std::size_t layer = 0; layer < found.lens.size(); ++layer) {
    for (std::size_t t = 0; t < found.lens[layer].size(); ++t) {
      CAPTURE(layer, t);
      const LensInspection& lens = found.lens[layer][t];
      REQUIRE(lens.top.size() == 5);
      for (std::size_t i = 0; i < 5; ++i) {
        if (margin(layer, t) > 1e-4) CHECK(lens.top[i].id == ids(layer, t, i));
        check_near(std::exp(static_cast<double>(lens.top[i].logprob)), probs(layer, t, i), 2e-4);
      }
      if (lens.rank == 0 && margin(layer, t) > 1e-4) CHECK(lens.top[0].id == token(t));
    }
  }
  for (const LensInspection& last : found.lens.back()) {
    CHECK(last.kl == 0.0f);
    CHECK(last.rank == 0);
  }
}

void check_contributions(const Inspection& found, const Golden& golden,
                         const nlohmann::json& names) {
  const Numbers parts(golden, names, "dla"), bias(golden, names, "dla_bias");
  const Numbers heads(golden, names, "dla_heads"), attn_bias(golden, names, "dla_attn_bias");
  const Numbers logit(golden, names, "logit");
  const double tolerance = std::max(parts.tolerance(), heads.tolerance());
  for (std::size_t t = 0; t < found.contributions.size(); ++t) {
    CAPTURE(t);
    const LogitContributions& of = found.contributions[t];
    check_near(of.logit, logit(t), logit.tolerance());
    check_near(of.ln_f_bias, bias(t), tolerance);
    check_near(of.wte, parts(0, t), tolerance);
    check_near(of.wpe, parts(1, t), tolerance);
    check_near(of.changes, 0.0, tolerance);
    const std::size_t n_layer = of.attn.size(), n_head = of.heads.size() / n_layer;
    for (std::size_t layer = 0; layer < n_layer; ++layer) {
      CAPTURE(layer);
      check_near(of.attn[layer], parts(2 + 2 * layer, t), tolerance);
      check_near(of.mlp[layer], parts(3 + 2 * layer, t), tolerance);
      check_near(of.attn_bias[layer], attn_bias(layer, t), tolerance);
      for (std::size_t head = 0; head < n_head; ++head) {
        check_near(of.heads[layer * n_head + head], heads(layer, head, t), tolerance);
      }
    }
  }
}

void check_norms(const Inspection& found, const Golden& golden, const nlohmann::json& names) {
  const Numbers mean(golden, names, "ln_mean"), variance(golden, names, "ln_var");
  const Numbers rstd(golden, names, "ln_rstd");
  for (std::size_t norm = 0; norm < found.norms.size(); ++norm) {
    for (std::size_t t = 0; t < found.norms[norm].size(); ++t) {
      check_near(found.norms[norm][t].mean, mean(norm, t), mean.tolerance());
      check_near(found.norms[norm][t].variance, variance(norm, t), variance.tolerance());
      check_near(found.norms[norm][t].rstd, rstd(norm, t), rstd.tolerance());
      CHECK(found.norms[norm][t].used_mean == found.norms[norm][t].mean);
      CHECK(found.norms[norm][t].used_rstd == found.norms[norm][t].rstd);
    }
  }
}

void check_case(const Golden& golden, const nlohmann::json& entry,
                const std::filesystem::path& checkpoint) {
  INFO(entry.at("id").get<std::string>());
  const Engine engine(Model::load(checkpoint));
  const std::vector<TokenId> ids = ids_of(entry.at("input_ids"));
  const nlohmann::json& names = entry.at("t");
  InspectOptions options;
  for (const double token : golden.tensor(names.at("token"))) {
    options.targets.push_back(static_cast<TokenId>(token));
  }
  const Inspection found = inspect(engine, ids, options);
  check_norms(found, golden, names);
  check_contributions(found, golden, names);
  if (entry.at("id").get<std::string>().ends_with(".probe")) return;  // its tokens are given
  check_lens(found, golden, names);
  const Inspection of_likeliest = inspect(engine, ids);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    CHECK(of_likeliest.contributions[t].target == options.targets[t]);
  }
}

// Row t of `count` rows, as doubles.
std::vector<double> row_of(const std::vector<float>& rows, std::size_t count, std::size_t t) {
  const auto size = static_cast<std::ptrdiff_t>(rows.size() / count);
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(t) * size;
  return {begin, begin + size};
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
double norm(const std::vector<double>& x) { return std::sqrt(dot(x, x)); }

std::vector<double> sum(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

void check_update(const UpdateInspection& found, const std::vector<double>& before,
                  const std::vector<double>& added) {
  const std::vector<double> after = sum(before, added);
  check_near(found.added_norm, norm(added), 1e-5 * norm(added));
  check_near(found.growth, norm(after) / norm(before), 1e-5 * norm(after) / norm(before));
  check_near(found.cosine, dot(before, after) / norm(before) / norm(after), 1e-5);
}

void check_norm(const NormInspection& found, const std::vector<double>& x,
                const std::vector<double>& y) {
  check_near(found.input_norm, norm(x), 1e-5 * norm(x));
  check_near(found.output_norm, norm(y), 1e-5 * norm(y));
  std::vector<double> normalized;
  for (const double value : x) normalized.push_back((value - found.mean) * found.rstd);
  double smallest = 1e30;
  std::vector<bool> listed(x.size());
  for (const OutlierDimension& outlier : found.outliers) {
    CHECK(outlier.value == x.at(outlier.dimension));
    check_near(outlier.normalized, normalized[outlier.dimension], 1e-5);
    CHECK(std::abs(outlier.normalized) <= smallest);
    smallest = std::abs(outlier.normalized);
    listed[outlier.dimension] = true;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!listed[i]) CHECK(std::abs(normalized[i]) <= smallest + 1e-5);
  }
}

void check_mlp(const MlpInspection& found, const std::vector<double>& neurons) {
  const auto active = std::ranges::count_if(neurons, [](double value) { return value > 0.0; });
  const auto count = static_cast<double>(neurons.size());
  check_near(found.active_share, static_cast<double>(active) / count, 1e-6);
  std::vector<double> order;
  for (const double value : neurons) order.push_back(std::abs(value));
  std::ranges::sort(order, std::greater());
  for (std::size_t i = 0; i < found.largest.size(); ++i) {
    CHECK(found.largest[i].value == neurons.at(found.largest[i].neuron));
    CHECK(std::abs(found.largest[i].value) == order[i]);
  }
}

// The mean of f over the queries for which it is defined: those for which it returns 0 or more.
template <class F>
void check_score(std::optional<float> found, std::size_t queries, const F& f) {
  double sum = 0.0, count = 0.0;
  for (std::size_t q = 0; q < queries; ++q) {
    const double value = f(q);
    if (value < 0.0) continue;
    sum += value;
    count += 1.0;
  }
  REQUIRE(found.has_value() == (count > 0.0));
  if (found) check_near(*found, sum / count, 1e-5);
}

void check_head(const HeadInspection& found, const std::vector<TokenId>& ids,
                const std::vector<float>& triangle) {
  const auto a = [&](std::size_t q, std::size_t k) {
    return static_cast<double>(triangle.at(q * (q + 1) / 2 + k));
  };
  for (std::size_t q = 0; q < ids.size(); ++q) {
    double entropy = 0.0, distance = 0.0;
    for (std::size_t k = 0; k <= q; ++k) {
      if (a(q, k) > 0.0) entropy -= a(q, k) * std::log(a(q, k));
      distance += a(q, k) * static_cast<double>(q - k);
    }
    check_near(found.entropy.at(q), entropy, 1e-5);
    check_near(found.distance.at(q), distance, 1e-5 * std::max(1.0, distance));
  }
  // The sum of a(q, k) over the keys that `is_meant`, or -1 if there are none.
  const auto over = [&](std::size_t q, const auto& is_meant) {
    double weight = -1.0;
    for (std::size_t k = 0; k <= q; ++k) {
      if (is_meant(k)) weight = std::max(weight, 0.0) + a(q, k);
    }
    return weight;
  };
  check_score(found.previous_token, ids.size(),
              [&](std::size_t q) { return over(q, [&](std::size_t k) { return k + 1 == q; }); });
  check_score(found.first_token, ids.size(), [&](std::size_t q) {
    return over(q, [&](std::size_t k) { return k == 0 && q > 0; });
  });
  check_score(found.duplicate_token, ids.size(), [&](std::size_t q) {
    return over(q, [&](std::size_t k) { return k < q && ids[k] == ids[q]; });
  });
  check_score(found.induction, ids.size(), [&](std::size_t q) {
    return over(q, [&](std::size_t k) { return k > 0 && k - 1 < q && ids[k - 1] == ids[q]; });
  });
}

void check_definitions(const Inspection& found, const Seen& seen, const Config& config,
                       const std::vector<TokenId>& ids) {
  using enum Observed;
  const auto row = [&](Observed what, std::size_t layer, std::size_t t) {
    return row_of(seen.at(what, layer), ids.size(), t);
  };
  const std::size_t last = config.n_layer;
  for (std::size_t layer = 0; layer < last; ++layer) {
    CAPTURE(layer);
    for (std::size_t t = 0; t < ids.size(); ++t) {
      CAPTURE(t);
      const auto x = layer == 0 ? row(embeddings, 0, t) : row(block_output, layer - 1, t);
      const auto attn = row(attn_output, layer, t);
      check_norm(found.norms[NormIndex::ln_1(layer)][t], x, row(ln_1_output, layer, t));
      check_update(found.updates[2 * layer][t], x, attn);
      check_update(found.updates[2 * layer + 1][t], sum(x, attn), row(mlp_output, layer, t));
      check_mlp(found.mlps[layer][t], row(mlp_activations, layer, t));
    }
    for (std::size_t head = 0; head < config.n_head; ++head) {
      CAPTURE(head);
      check_head(found.heads[layer][head], ids, seen.at(attention_weights, layer, head));
    }
  }
  for (std::size_t t = 0; t < ids.size(); ++t) {
    check_norm(found.norms[NormIndex::ln_f(last)][t], row(block_output, last - 1, t),
               row(ln_f_output, last, t));
  }
}

// A text in which tokens come again, so that every score of a head is defined.
std::vector<TokenId> text_for(const Model& model, std::size_t count) {
  std::vector<TokenId> ids = random_tokens(model, count, 5);
  for (std::size_t i = count / 2; i < count; ++i) ids[i] = ids[i - count / 2];
  return ids;
}

double sum_of(const LogitContributions& of) {
  double total = static_cast<double>(of.wte) + of.wpe + of.ln_f_bias + of.changes;
  for (std::size_t i = 0; i < of.attn.size(); ++i) {
    total += static_cast<double>(of.attn[i]) + of.mlp[i];
  }
  return total;
}

// The report of an inspection, which has all its numbers.
std::string report_of(const Engine& engine, const std::vector<TokenId>& ids) {
  const InspectionRequest request = {.tokens = ids, .with_attention = false};
  const std::optional<Tokenizer> none;
  return inspection_json(request, run_inspection(engine, request), {"", engine.model(), none})
      .text();
}

}  // namespace

TEST_CASE("an inspection has HuggingFace's statistics, logit lens and contributions") {
  std::size_t cases = 0;
  for (const Golden& golden : goldens_of("inside/inside.json")) {
    for (const nlohmann::json& entry : golden.json.at("cases")) {
      const auto checkpoint = checkpoint_of(golden, entry.at("model"));
      if (!checkpoint) continue;
      check_case(golden, entry, *checkpoint);
      ++cases;
    }
  }
  CHECK(cases >= 9);
}

TEST_CASE("an inspection follows its definitions, for every kind of model") {
  for (const std::filesystem::path& folder : oracle_cases()) {
    INFO(folder);
    const Model model = Model::load(folder);
    const Config& config = model.config();
    const std::vector<TokenId> ids = text_for(model, std::min<std::size_t>(16, config.n_positions));
    Seen seen;
    const Engine engine(model);
    const Inspection found = inspect(engine, ids, {.observer = seen.observer()});
    check_definitions(found, seen, config, ids);

    double largest = 1.0;
    for (const LogitContributions& of : found.contributions) {
      for (const float part : of.attn) largest = std::max(largest, std::abs(double{part}));
      for (const float part : of.mlp) largest = std::max(largest, std::abs(double{part}));
    }
    for (const LogitContributions& of : found.contributions) {
      check_near(sum_of(of), of.logit, 2e-5 * largest);
    }
    const TextScore expected = score(engine, {&ids, 1}, {.top_logprobs = 5}).front();
    REQUIRE(found.scores.size() == ids.size());
    CHECK(std::isnan(found.scores[0].logprob));
    for (std::size_t t = 1; t < ids.size(); ++t) {
      CHECK(found.scores[t].logprob == expected.tokens[t].logprob);
      CHECK(found.scores[t].rank == expected.tokens[t].rank);
      CHECK(found.scores[t].top.size() == expected.tokens[t].top.size());
    }
  }
}

TEST_CASE("an inspection has the same bits with any threads and instruction set") {
  // 600 tokens are more than one piece of a pass.
  const std::vector<TokenId> ids = text_for(odd_model(), is_slow() ? 30 : 600);
  const std::string expected = report_of(Engine(odd_model(), {.threads = 1}), ids);
  const std::string before(isa_name());
  for (const std::string_view isa : available_isas()) {
    force_isa(isa);
    CAPTURE(isa);
    const Engine engine(odd_model(), {.threads = 3});
    CHECK((report_of(engine, ids) == expected));  // too long to print
  }
  force_isa(before);
}

// Inspects while an observer sets everything at these places to `value`.
Inspection with_change(const std::vector<TokenId>& ids, float value,
                       const std::set<std::pair<Observed, std::size_t>>& places) {
  InspectOptions options;
  options.observer.change = [value](const Intervention& values) {
    for (std::size_t i = 0; i < values.rows; ++i) std::ranges::fill(values.row(i), value);
  };
  options.observer.changes = [&](Observed what, std::size_t layer) {
    return places.contains({what, layer});
  };
  return inspect(Engine(odd_model()), ids, options);
}

TEST_CASE("the contributions of a changed pass add up") {
  const std::vector<TokenId> ids = text_for(odd_model(), 12);
  const std::size_t n_layer = odd_model().config().n_layer, n_head = odd_model().config().n_head;
  using Places = std::set<std::pair<Observed, std::size_t>>;
  for (const Places& places :
       {Places{{Observed::ln_f_statistics, n_layer}}, Places{{Observed::block_output, 0}},
        Places{{Observed::embeddings, 0}}, Places{{Observed::attn_output, 1}},
        Places{{Observed::ln_1_statistics, 1}, {Observed::mlp_output, 0}},
        Places{{Observed::ln_f_output, n_layer}}}) {
    const Inspection found = with_change(ids, 0.5f, places);
    for (const LogitContributions& of : found.contributions) {
      check_near(sum_of(of), of.logit, 2e-5 * std::max(1.0, std::abs(double{of.logit})));
      for (std::size_t layer = 0; layer < n_layer; ++layer) {
        double attn = of.attn_bias[layer];
        for (std::size_t i = 0; i < n_head; ++i) attn += of.heads[layer * n_head + i];
        check_near(attn, of.attn[layer], 1e-4);
      }
    }
  }
}

TEST_CASE("texts that cannot be inspected are refused") {
  const Engine engine(odd_model());
  const Config& config = odd_model().config();
  const std::vector<TokenId> one = {1}, outside = {static_cast<TokenId>(config.vocab_size)};
  const std::vector<TokenId> many(config.n_positions + 1, 1);
  const auto refuses = [&](std::span<const TokenId> text, const std::string& reason,
                           const InspectOptions& options = {}) {
    const std::string message = refusal_of([&] { (void)inspect(engine, text, options); });
    CAPTURE(message);
    CHECK(message.find(reason) != std::string::npos);
  };
  refuses({}, "tokens, got 0");
  refuses(many, "tokens, got " + std::to_string(many.size()));
  refuses(outside, "vocabulary");
  refuses(one, "each of the 1 tokens, got 2", {.targets = {1, 2}});
  refuses(one, "the target", {.targets = outside});
}

}  // namespace gpt2::test::inspect_test
