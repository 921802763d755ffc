// Compares what is written with the model's generation_config.json with what HuggingFace's
// generate() writes if it is called without arguments, for each file of today/genconfig.

#include "gpt2/generation_config.h"
#include "gpt2/session.h"
#include "requests/read/options.h"
#include "support/golden.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_hf_defaults_test {

namespace {

const std::filesystem::path kModel =
    std::filesystem::path(GPT2_TEST_DATA) / "oracle/today/genconfig";

// A directory with the model, and a generation config beside it.
class Place {
 public:
  explicit Place(const json& generation_config) {
    for (const char* const name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(kModel / name, directory_.path() / name);
    }
    directory_.write("generation_config.json", generation_config.dump());
  }

  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
  [[nodiscard]] AskedModel model() const {
    return {Engine(Model::load(path()), {.threads = 1}), std::nullopt};
  }

 private:
  TemporaryDirectory directory_;
};

std::vector<std::vector<TokenId>> written(const Place& place, const json& ids) {
  const AskedModel model = place.model();
  std::vector<std::vector<TokenId>> rows;
  for (const json& record : answer("generate", {{"token_ids", ids}},
                                   {.model = model, .defaults = hf_defaults(place.path())})) {
    rows.push_back(ids_of(record.at("token_ids")));
  }
  return rows;
}

void check_texts(const Place& place, const json& entry) {
  const json& config = entry.at("generation_config");
  const std::vector<TokenId> eos = eos_of(config.value("eos_token_id", json()));
  std::vector<std::vector<TokenId>> expected;
  for (const json& row : entry.at("new_ids")) {  // has the token that ended the text, and pads
    std::vector<TokenId>& ids = expected.emplace_back(ids_of(row));
    ids.erase(std::ranges::find_first_of(ids, eos), ids.end());
  }
  CHECK(written(place, entry.at("input_ids")) == expected);
}

void check_first_step(const Place& place, const json& entry) {
  const AskedModel model = place.model();
  Session session(model.engine);
  const std::vector<TokenId> ids = ids_of(entry.at("input_ids"));
  Sampler sampler(GenerationConfig::load(place.path()).sampling,
                  model.engine.model().config().vocab_size, {.prompt_length = ids.size()});
  const auto found = kept(sampler.process(session.forward(ids), ids));
  CHECK(found == entry.at("first_step_kept").get<std::vector<std::size_t>>());
}

}  // namespace

TEST_CASE("texts are those of HuggingFace's generate() without arguments") {
  std::size_t compared = 0;
  const json golden = json::parse(std::ifstream(kModel / "entries.json"));
  for (const json& entry : golden.at("entries")) {
    INFO(entry.at("name") << ": " << entry.at("generation_config"));
    const Place place(entry.at("generation_config"));
    if (entry.at("name").get<std::string>().starts_with("encoder_")) {
      CHECK_THROWS_AS(GenerationConfig::load(place.path()), Error);  // is not implemented
      continue;
    }
    entry.at("do_sample") ? check_first_step(place, entry) : check_texts(place, entry);
    ++compared;
  }
  CHECK(compared == 24);
}

TEST_CASE("without a length, there are 20 new tokens, and at most n_positions in all") {
  const Place place(json{{"eos_token_id", nullptr}});
  for (const auto& [prompt, expected] : {std::pair(12, 20), {13, 19}, {31, 1}}) {
    CHECK(written(place, json(std::vector<int>(static_cast<std::size_t>(prompt), 5)))[0].size() ==
          static_cast<std::size_t>(expected));
  }
  CHECK_THROWS_AS(written(place, json(std::vector<int>(32, 5))), Error);  // as in transformers 5
}

}  // namespace gpt2::test::requests_hf_defaults_test
