// Loads the checkpoints of tests/data/oracle/loading (names with prefixes, tied heads, pickles with
// other objects, files of other programs) and the adapters of tests/data/oracle/adapters and
// tests/data/oracle/today/adapters.
#include <cctype>
#include <nlohmann/json.hpp>

#include "gpt2/session.h"
#include "support/golden.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::loading_test {

namespace fs = std::filesystem;

namespace {

const fs::path kOracle = fs::path(GPT2_TEST_DATA) / "oracle";
const fs::path kLoading = kOracle / "loading";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Checks that the text has each of the facts, in lower or upper case.
void check_names(const std::string& text, const nlohmann::json& expected, const char* facts) {
  for (const std::string& fact : expected.value(facts, std::vector<std::string>())) {
    CAPTURE(text, fact);
    CHECK(lower(text).find(lower(fact)) != std::string::npos);
  }
}

// The logits, which are those of all tokens or of the last one, were computed in float64, and the
// weights are F16.
void check_logits(const Model& model, const nlohmann::json& expected) {
  Session session(model);
  const std::vector<float> all = all_logits(session, ids_of(expected.at("ids")));
  const nlohmann::json& rows = expected.at("logits");
  std::vector<double> right;
  for (const nlohmann::json& row : rows[0].is_array() ? rows : nlohmann::json::array({rows})) {
    right.insert(right.end(), row.begin(), row.end());
  }
  REQUIRE(all.size() >= right.size());
  const std::span<const float> logits = std::span(all).last(right.size());
  double worst = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(logits[i]) - right[i]));
  }
  CHECK(worst < 2e-4);
}

void check_folder(const fs::path& folder, const nlohmann::json& expected) {
  const std::string verdict = expected.value("preferred", expected.at("verdict"));
  std::optional<Model> model;
  try {
    model = Model::load(folder / expected.value("open_file", ""));
  } catch (const Error& error) {
    CAPTURE(error.what());
    CHECK(verdict != "loads");
    check_names(error.what(), expected, "message_must_name");
    check_names(error.what(), expected, "names_if_refused");
  }
  if (model) {
    CHECK(verdict != "refused");
    check_logits(*model, expected);
    std::string warnings;
    for (const std::string& warning : model->description().warnings) warnings += warning + '\n';
    check_names(warnings, expected, "must_warn");
    CHECK((warnings.empty() || warnings.find('\n') == warnings.size() - 1));
  }
  if (expected.contains("must_not_exist")) {
    CHECK_FALSE(fs::exists(expected["must_not_exist"].get<std::string>()));
  }
}

}  // namespace

TEST_CASE("the checkpoints that people have are loaded, or refused for the reason") {
  std::size_t checked = 0;
  for (const char* const group : {"loading", "adapters", "today/adapters"}) {
    for (const fs::path& folder : fs::directory_iterator(kOracle / group)) {
      std::ifstream file(folder / "expected.json");
      // Its base may be in the cache of whoever runs the tests: adapter_test has such a case.
      if (!file || folder.filename() == "foreign_adapter_folder") continue;
      CAPTURE(folder);
      const auto expected = nlohmann::json::parse(file);
      check_folder(folder, expected);
      ++checked;
    }
  }
  CHECK(checked == 76 + 42 + 31);
}

TEST_CASE("a head that is not used, and one that is not tied, are told in one line each") {
  const auto warnings = [](const char* name) {
    return Model::load(kLoading / name).description().warnings;
  };
  CHECK(warnings("tied_and_equal").empty());
  const std::vector<std::string> head = warnings("qa_outputs");
  REQUIRE(head.size() == 1);
  CHECK(head[0].find("'qa_outputs.bias' and 1 more") != std::string::npos);
  CHECK_FALSE(Model::load(kLoading / "tied_but_different").config().tie_word_embeddings);
  CHECK(Model::load(kLoading / "lm_head_only").config().tie_word_embeddings);
}

}  // namespace gpt2::test::loading_test
