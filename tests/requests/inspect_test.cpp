// Tests requests to inspect a text: the report has the numbers of inspect(), and the page has the
// report.
#include <numeric>

#include "gpt2/inspect.h"
#include "support/openai.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_inspect_test {

namespace {

const std::string kText = "The cat sat. The cat";

json report(const json& more = json::object(), const Door& door = of_stories()) {
  return answer("inspect", with({{"prompt", kText}}, more), door);
}

// The JSON in a page.
json data_of(const std::string& page) {
  const std::string opening = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = page.find(opening);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = page.find("</script>", begin);
  return json::parse(page.substr(begin + opening.size(), end - begin - opening.size()));
}

std::size_t base64_length(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

}  // namespace

TEST_CASE("the report has the numbers of the library") {
  const json found = report({{"top", 3}});
  const std::vector<TokenId> ids = stories().ids(kText);
  const Inspection expected = inspect(stories().engine, ids, {.top = 3});
  const std::size_t n_head = stories().engine.model().config().n_head;
  CHECK(found["model"] == "m");
  CHECK(found["config"]["n_head"] == n_head);
  CHECK(found["changes"] == json::array());
  REQUIRE(found["tokens"].size() == ids.size());
  CHECK(found["tokens"][0]["logprob"].is_null());
  REQUIRE(found["norms"].size() == expected.norms.size());
  CHECK(found["norms"][0]["name"] == "h.0.ln_1");
  CHECK(found["norms"].back()["name"] == "ln_f");
  CHECK(found["updates"][1]["name"] == "h.0.mlp");
  for (std::size_t t = 0; t < ids.size(); ++t) {
    CAPTURE(t);
    CHECK(found["tokens"][t]["id"] == ids[t]);
    if (t > 0) CHECK(found["tokens"][t]["logprob"].get<float>() == expected.scores[t].logprob);
    const json& norm = found["norms"][3]["tokens"][t];
    CHECK(norm["variance"].get<float>() == expected.norms[3][t].variance);
    CHECK(norm["outliers"].size() == 3);
    CHECK(norm["outliers"][0]["dimension"] == expected.norms[3][t].outliers[0].dimension);
    CHECK(found["updates"][1]["tokens"][t]["growth"].get<float>() == expected.updates[1][t].growth);
    CHECK(found["mlps"][2][t]["largest"][0]["neuron"] == expected.mlps[2][t].largest[0].neuron);
    CHECK(found["lens"][1][t]["rank"] == expected.lens[1][t].rank);
    CHECK(found["lens"][1][t]["top"][0]["id"] == expected.lens[1][t].top[0].id);
    const json& parts = found["contributions"][t];
    CHECK(parts["id"] == expected.contributions[t].target);
    CHECK(parts["mlp"][1].get<float>() == expected.contributions[t].mlp[1]);
    CHECK(parts["heads"][1][2].get<float>() == expected.contributions[t].heads[n_head + 2]);
  }
  const json& head = found["heads"][n_head + 2];
  CHECK(head["layer"] == 1);
  CHECK(head["head"] == 2);
  CHECK(head["induction"].get<float>() == expected.heads[1][2].induction);
  for (std::size_t query = 0; query < ids.size(); ++query) {
    const auto weights = head["weights"][query].get<std::vector<double>>();
    CHECK(weights.size() == query + 1);
    CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == Approx(1.0).epsilon(1e-5));
  }
}

TEST_CASE("the prompt is a text or token ids, and attention may be left out") {
  const json expected = report({{"attention", false}});
  CHECK(expected.dump().find("weights") == std::string::npos);
  CHECK(report({{"attention", false}, {"prompt", stories().ids(kText)}, {"model", 5}}) == expected);
  const json ids = report({{"prompt", {97, 98}}}, {alphabet_of_ids()});
  CHECK(ids["tokens"][1]["id"] == 98);
  CHECK_FALSE(ids["tokens"][1].contains("text"));
  CHECK(report({{"prompt", "a"}}, {})["loss"].is_null());  // nothing predicts the only token
}

TEST_CASE("a change is compared with the model as it is") {
  const json found = report({{"skip_mlp", {2}}, {"attention", false}});
  const std::vector<TokenId> ids = stories().ids(kText);
  InspectOptions options;
  options.observer.change = [](const Intervention& values) {
    for (std::size_t i = 0; i < values.rows; ++i) std::ranges::fill(values.row(i), 0.0f);
  };
  options.observer.changes = [](Observed what, std::size_t layer) {
    return what == Observed::mlp_output && layer == 2;
  };
  const Inspection changed = inspect(stories().engine, ids, options);
  const Inspection plain = inspect(stories().engine, ids);
  const json& other = found["compared_with"];
  double loss = 0.0;
  for (std::size_t t = 1; t < ids.size(); ++t) {
    CHECK(found["tokens"][t]["logprob"].get<float>() == changed.scores[t].logprob);
    CHECK(other["tokens"][t]["logprob"].get<float>() == plain.scores[t].logprob);
    loss -= changed.scores[t].logprob;
  }
  CHECK(found["loss"].get<double>() == Approx(loss / static_cast<double>(ids.size() - 1)));
  CHECK(other["loss"] == report()["loss"]);
  CHECK(found["next"][0]["id"] == changed.lens.back().back().top[0].id);
  // The streams are the same up to the skipped layer, h.2.mlp, and differ after it.
  CHECK(other["distance"][NormIndex::ln_2(2)][3] == 0.0);
  CHECK(other["distance"][NormIndex::ln_1(3)][3] > 0.0);
}

TEST_CASE("changes do what they say") {
  const auto loss = [](const json& change) {
    const json found = report(with(change, {{"attention", false}}));
    CHECK(found["compared_with"]["loss"] > 0.0);
    CHECK(found["changes"].size() == 1);
    return found["loss"].get<double>();
  };
  const double plain = report()["loss"];
  CHECK(loss({{"identity_norm", {"ln_f"}}}) != plain);
  CHECK(loss({{"identity_norm", {"h.1.ln_2"}}}) == loss({{"identity_norm", {"ln_2.1"}}}));
  CHECK(loss({{"skip_head", {"1.0"}}}) != plain);
  CHECK(loss({{"skip_layer", {3}}}) != loss({{"skip_mlp", {3}}}));
  CHECK(loss({{"skip_mlp", {"3"}}}) == loss({{"skip_mlp", {3}}}));
  // A head that is skipped adds nothing: all heads of a block are its attention.
  const json all = report({{"skip_head", {"0.0", "0.1", "0.2", "0.3"}}, {"skip_mlp", {0}}});
  CHECK(all["changes"].size() == 5);
  CHECK(all["loss"] != plain);
}

TEST_CASE("the page has the report and the vectors of the text") {
  const std::string hostile = "</script><script>alert(1)</script><!--";
  const std::string page = answer("inspect_page", {{"prompt", hostile}}, of_stories());
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.find("alert(1)<") == std::string::npos);
  CHECK(page.find("src=") == std::string::npos);
  for (const char* const link : {"href=\"http", "https:", "url(", "import"}) {
    CHECK(page.find(link) == std::string::npos);
  }
  const json data = data_of(page);
  const Config& config = stories().engine.model().config();
  const std::size_t tokens = data["tokens"].size(), norms = 2 * config.n_layer + 1;
  CHECK(data["inputs"].get<std::string>().size() ==
        base64_length(norms * tokens * config.n_embd * 3));
  CHECK(data["parameters"].get<std::string>().size() ==
        base64_length(norms * 2 * config.n_embd * 4));
  const std::size_t attention =
      base64_length(config.n_layer * config.n_head * (tokens * (tokens + 1) / 2) * 2);
  CHECK(data["attention"].get<std::string>().size() == attention);
  // The page always has the attention weights.
  const json body = {{"prompt", hostile}, {"attention", false}};
  CHECK(answer("inspect_page", body, of_stories()) == page);
}

TEST_CASE("what cannot be inspected is refused by name") {
  const std::string long_text(65, 'a');
  check_refusals("inspect", "",
                 {{"", "prompt", kMissing},
                  {R"("prompt": "")", "prompt"},
                  {R"("prompt": ["a"])", "prompt[0]"},
                  {R"("prompt": [300])", "prompt[0]"},
                  {R"("prompt": ")" + long_text + "\"", "prompt", kTooLong}});
  check_refusals("inspect", R"("prompt": "ab")",
                 {{R"("top": 0)", "top"},
                  {R"("top": 101)", "top"},
                  {R"("attention": 1)", "attention"},
                  {R"("skip_layer": 0)", "skip_layer"},
                  {R"("skip_layer": [true])", "skip_layer"},
                  {R"("skip_layer": [1])", "skip_layer"},
                  {R"("skip_mlp": [-1])", "skip_mlp"},
                  {R"("skip_mlp": [""])", "skip_mlp"},
                  {R"("skip_head": ["1"])", "skip_head"},
                  {R"("skip_head": ["0.1"])", "skip_head"},
                  {R"("skip_head": ["1.0"])", "skip_head"},
                  {R"("skip_head": ["0.x"])", "skip_head"},
                  {R"("identity_norm": ["ln_1"])", "identity_norm"},
                  {R"("identity_norm": ["ln_f.1"])", "identity_norm"},
                  {R"("identity_norm": ["ln_3.0"])", "identity_norm"},
                  {R"("identity_norm": ["ln_2.1"])", "identity_norm"},
                  {R"("temperature": 1)", "temperature", kUnknown}});
}

}  // namespace gpt2::test::requests_inspect_test
