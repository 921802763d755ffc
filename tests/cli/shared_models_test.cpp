// Tests models that others trained, end to end. They lie in a directory next to the repository,
// which not every machine has.
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::shared_models_test {

namespace fs = std::filesystem;

namespace {

const fs::path kModels = fs::path(GPT2_SHARED_DIR) / "models";

bool skipped() {
  if (fs::exists(kModels)) return false;
  WARN("skipped: no " << kModels);
  SUCCEED();
  return true;
}

std::string model(const char* name) { return (kModels / name).string(); }

}  // namespace

TEST_CASE("aitextgen-tarotble writes English") {
  if (skipped()) return;
  // A double-precision program that uses nothing but Python's standard library computed this text.
  // In that program, the logit of the likeliest token is ahead of the next by 1.7 or more at every
  // step.
  CHECK(output_of({"-m", model("aitextgen-tarotble"), "--greedy", "-n", "40", "The card means"}) ==
        "The card means paying the price of some of the people you most want to see.\n"
        "The planets warn that a family matter that does not concern you will come up for air "
        "today,\n");
  const auto json =
      nlohmann::json::parse(run({"info", "-m", model("aitextgen-tarotble"), "--json"}).out);
  CHECK(json["parameters"] == 929536);  // as its PROVENANCE.md says
  CHECK(json["ignored"]["a causal mask, as old versions stored it"].size() == 8);
  CHECK(json["warnings"].empty());
}

TEST_CASE("tiny-random-gpt2 has no tokenizer, and writes what onnxruntime's tests expect of it") {
  if (skipped()) return;
  std::ifstream in(kModels / "tiny-random-gpt2-hf/expected.json");
  const auto expected = nlohmann::json::parse(in).at("greedy_max_length_10");
  for (const auto& example : expected) {
    std::string ids[2];
    for (const int id : example.at("prompt")) ids[0] += std::to_string(id) + " ";
    for (const int id : example.at("out"))
      ids[1] += (ids[1].empty() ? "" : " ") + std::to_string(id);
    const std::size_t more = example.at("out").size() - example.at("prompt").size();
    CHECK(output_of({"-m", model("tiny-random-gpt2-hf"), "--greedy", "--tokens", ids[0], "-n",
                     std::to_string(more)}) == ids[1] + "\n");
  }
  CHECK(contains(run({"-m", model("tiny-random-gpt2-hf"), "x"}).err, "--tokens"));
}

TEST_CASE("directories with real configs but no weights are refused for what they lack") {
  if (skipped()) return;
  std::size_t seen = 0;
  for (const fs::path& directory : fs::directory_iterator(kModels / "configs")) {
    if (!fs::is_directory(directory)) continue;
    const Outcome outcome = run({"-m", directory.string(), "x"});
    CAPTURE(directory, outcome.err);
    CHECK(outcome.status == 1);
    const bool is_gptq = directory.filename() == "gpt2-gptq-4bit";
    CHECK(contains(outcome.err, is_gptq ? "quant_method is 'gptq'"
                                        : directory.string() + ": no weights; expected "));
    ++seen;
  }
  CHECK(seen == 12);
}

}  // namespace gpt2::test::shared_models_test
