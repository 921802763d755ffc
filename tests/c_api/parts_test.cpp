// Tests samplers, weights and models in memory of the C interface as same_test tests the others.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/file_source.h"
#include "c_api/calls.h"
#include "gpt2/embed.h"
#include "gpt2/engine.h"
#include "gpt2/model.h"
#include "gpt2/sampler.h"
#include "gpt2/session.h"
#include "support/temporary_directory.h"

namespace gpt2::test::parts_test {

using namespace gpt2::test::c_api;

TEST_CASE("a sampler gives the same scores and tokens") {
  const std::size_t vocab_size = model().config().vocab_size;
  const auto c =
      made(gpt2_sampler_free, gpt2_sampler_new,
           R"({"temperature": 0.9, "seed": 7, "repetition_penalty": 1.25, "top_p": 0.9, "top_k": 0,
               "eos_token_id": [4095], "prompt_length": 2, "max_length": 30, "dropped": 1})",
           vocab_size, nullptr, nullptr);
  Sampler cpp({.temperature = 0.9f, .top_p = 0.9f, .seed = 7, .repetition_penalty = 1.25f},
              vocab_size,
              {.eos_token_id = {4095}, .prompt_length = 2, .max_length = 30, .dropped = 1});
  Session session(model());
  std::span<const float> logits = session.forward(encoded("Once upon"));
  for (int i = 0; i < 12; ++i) {
    const auto ids = session.tokens();
    const float* scores = nullptr;
    REQUIRE(gpt2_sampler_process(c.get(), logits.data(), ids.data(), ids.size(), &scores) ==
            GPT2_OK);
    CHECK(same_bits(cpp.process(logits, ids), scores));
    gpt2_token token = -1;
    REQUIRE(gpt2_sampler_sample(c.get(), logits.data(), ids.data(), ids.size(), &token) == GPT2_OK);
    CHECK(token == cpp.sample(logits, ids));
    logits = session.forward({&token, 1});
  }
}

TEST_CASE("the weights are the same, and so are logits of hidden states") {
  const std::vector<NamedWeight> expected = weights_of(model());
  const gpt2_weight* weights = nullptr;
  std::size_t n_weights = 0;
  REQUIRE(gpt2_model_weights(c_model(), &weights, &n_weights) == GPT2_OK);
  REQUIRE(n_weights == expected.size());
  for (std::size_t i = 0; i < n_weights; ++i) {
    const gpt2_weight& found = weights[i];
    CHECK(found.name == expected[i].name);
    CHECK(found.dtype == name_of(expected[i].type));
    CHECK(std::vector<std::size_t>(found.shape, found.shape + found.n_shape) == expected[i].shape);
    REQUIRE(found.size == expected[i].bytes.size());
    CHECK(std::memcmp(found.data, expected[i].bytes.data(), found.size) == 0);
  }
  const Config& config = model().config();
  std::vector<float> states(3 * config.n_embd), logits(3 * config.vocab_size);
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = static_cast<float>(i % 7) - 3.0f;
  std::vector<float> wanted(logits.size());
  for (const bool ln_f : {false, true}) {
    unembed(Engine::shared(model()), states, wanted, {.ln_f = ln_f});
    REQUIRE(gpt2_unembed(c_model(), nullptr, states.data(), 3, ln_f, logits.data()) == GPT2_OK);
    CHECK(same_bits(wanted, logits.data()));
  }
}

TEST_CASE("a model and a tokenizer are loaded from memory, without a copy of the weights") {
  std::vector<std::pair<std::string, std::string>> contents;
  for (const char* const name : {"config.json", "model.safetensors", "vocab.json", "merges.txt"}) {
    contents.emplace_back(name, read_file(kDirectory / name, std::size_t{1} << 30));
  }
  std::vector<gpt2_memory_file> files;
  for (const auto& [name, content] : contents) {
    files.push_back({name.c_str(), content.data(), content.size()});
  }
  const auto load = [&](const char* options) {
    return made(gpt2_model_free, gpt2_model_load_memory, files.data(), files.size(), options,
                nullptr, nullptr);
  };
  const auto loaded = load(nullptr);
  CHECK(json_of(gpt2_model_info, loaded.get()).at("path") == "");
  const auto text =
      made(gpt2_tokenizer_free, gpt2_tokenizer_load_memory, files.data(), files.size());
  const std::vector<TokenId> ids = encoded("Once upon");
  CHECK(bytes_of(gpt2_tokenizer_decode, text.get(), ids.data(), ids.size()) == "Once upon");

  const auto logits_of = [&] {
    const auto c = made(gpt2_session_free, gpt2_session_new, loaded.get(), no_engine(), nullptr);
    const float* logits = nullptr;
    REQUIRE(gpt2_session_forward(c.get(), ids.data(), ids.size(), &logits) == GPT2_OK);
    return std::vector<float>(logits, logits + model().config().vocab_size);
  };
  Session session(model());
  const std::span<const float> expected = session.forward(ids);
  CHECK(same_bits(expected, logits_of().data()));
  // Changing the bytes in place changes the logits, which shows that the model has no copy of them.
  std::string& weights = contents[1].second;
  std::fill(weights.end() - 1000, weights.end(), '\0');
  CHECK_FALSE(same_bits(expected, logits_of().data()));

  const auto small = load(R"({"dtype": "int8"})");
  CHECK(json_of(gpt2_model_info, small.get()).at("dtype") == "int8");
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "int8").string();
  CHECK(gpt2_model_save_quantized(small.get(), path.c_str()) == GPT2_INVALID_ARGUMENT);
}

}  // namespace gpt2::test::parts_test
