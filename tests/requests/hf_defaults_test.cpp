// Compares what is written with the model's generation_config.json with what HuggingFace's
// generate() writes if it is called without arguments, for each file of today/genconfig.

#include "gpt2/generation_config.h"
#include "gpt2/session.h"
#include "requests/read/options.h"
#include "support/golden.h"
#include "support/openai.h"
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

// The records without the times that they took.
json texts_of(json records) {
  for (json& record : records) record.erase("stats");
  return records;
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

TEST_CASE("a request replaces members of the config, and what goes with them") {
  const std::string drawn = R"("do_sample": true, "temperature": 1.0, "max_new_tokens": 5)";
  const std::string three = drawn + R"(, "num_return_sequences": 3)";
  const std::string beams = R"("num_beams": 3, "num_return_sequences": 2, "length_penalty": 0.5,
                               "early_stopping": true, "max_new_tokens": 5)";
  const std::string forced = R"("max_new_tokens": 6, "forced_eos_token_id": 20)";
  const std::string like_drawn = R"("max_new_tokens": 5, "temperature": 1, "top_k": 50)";
  const std::string like_beams =
      R"("max_new_tokens": 5, "length_penalty": 0.5, "early_stopping": true, "num_beams": )";
  const std::string greedy = R"("max_new_tokens": 5, "temperature": 0)";
  // A config, the members of a request, and those with which it asks for the same without a config.
  const std::vector<std::array<std::string, 3>> cases = {
      {drawn, R"("max_new_tokens": 2)", R"("max_new_tokens": 2, "temperature": 1, "top_k": 50)"},
      {drawn, R"("top_k": 3, "seed": 4)",
       R"("max_new_tokens": 5, "temperature": 1, "top_k": 3, "seed": 4)"},
      {drawn, R"("do_sample": false)", greedy},
      {three, "", like_drawn + R"(, "num_return_sequences": 3)"},
      {three, R"("num_return_sequences": 2)", like_drawn + R"(, "num_return_sequences": 2)"},
      {three, R"("do_sample": false)", greedy},
      {three, R"("num_beams": 2)", R"("max_new_tokens": 5, "num_beams": 2)"},
      {beams, "", like_beams + R"(3, "num_return_sequences": 2)"},
      {beams, R"("num_return_sequences": 1, "num_beams": 2)", like_beams + "2"},
      {beams, R"("num_beams": 1)", greedy},
      {forced, "", R"("temperature": 0, )" + forced},
      {forced, R"("forced_eos_token_id": 21)",
       R"("temperature": 0, "max_new_tokens": 6, "forced_eos_token_id": 21)"}};
  const auto with_ids = [](const std::string& members) {
    return with({{"token_ids", {5, 6, 7}}}, json::parse("{" + members + "}"));
  };
  for (const auto& [config, members, same] : cases) {
    CAPTURE(config, members);
    const Place place(json::parse("{" + config + "}"));
    const AskedModel model = place.model();
    const Door door = {.model = model, .defaults = hf_defaults(place.path())};
    CHECK(texts_of(answer("generate", with_ids(members), door)) ==
          texts_of(answer("generate", with_ids(same), {.model = model})));
  }
}

}  // namespace gpt2::test::requests_hf_defaults_test
