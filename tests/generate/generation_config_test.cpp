#include "gpt2/generation_config.h"

#include "gpt2/error.h"
#include "gpt2/option_fields.h"
#include "support/test.h"

namespace gpt2::test::generation_config_test {

namespace {

using Ids = std::vector<gpt2::TokenId>;

GenerationConfig parse(std::string_view json) { return GenerationConfig::parse(json, "g"); }

}  // namespace

TEST_CASE("every field of a generation config is read, and null is as if absent") {
  for (const char* const empty : {"{}", R"({"top_k": null, "do_sample": null, "max_length": null,
      "min_p": null, "sequence_bias": null, "bad_words_ids": null, "forced_eos_token_id": null,
      "exponential_decay_length_penalty": null, "suppress_tokens": null})"}) {
    const GenerationConfig config = parse(empty);  // HuggingFace's GenerationConfig()
    CHECK_FALSE(config.do_sample);
    CHECK(config.sampling.temperature == 0.0f);
    CHECK(config.sampling.top_k == 50);
    CHECK(config.sampling.top_p == 1.0f);
    CHECK(config.sampling.repetition_penalty == 1.0f);
    CHECK(config.max_new_tokens == 20);
    CHECK_FALSE(config.max_length);
  }
  const GenerationConfig config =
      parse(R"({"do_sample": true, "temperature": 0.5, "top_k": 7, "top_p": 0.25, "max_length": 30,
                "max_new_tokens": 9, "eos_token_id": [1, 2], "transformers_version": "4.30.0",
                "forced_eos_token_id": 11, "num_return_sequences": 3})");
  CHECK(config.do_sample);
  CHECK(config.sampling.temperature == 0.5f);
  CHECK(config.sampling.top_k == 7);
  CHECK(config.sampling.top_p == 0.25f);
  CHECK(config.sampling.forced_eos_token_id == Ids{11});
  CHECK_FALSE(config.max_length);  // max_new_tokens takes its place
  CHECK(config.max_new_tokens == 9);
  CHECK(config.num_return_sequences == 3);  // without beams, how many texts are drawn
  CHECK(config.beams.num_return_sequences == 1);
  const GenerationConfig in_all = parse(R"({"max_length": 30, "max_new_tokens": null})");
  CHECK(in_all.max_length == 30);
  CHECK_FALSE(in_all.max_new_tokens);
  CHECK(parse(R"({"max_length": 18446744073709551615})").max_length == gpt2::kMaxOptionTokens);
  CHECK(parse(R"({"max_new_tokens": 18446744073709551615})").max_new_tokens ==
        gpt2::kMaxOptionTokens);
  CHECK(parse(R"({"forced_eos_token_id": [11, 3]})").sampling.forced_eos_token_id == Ids{11, 3});
  // A temperature that a float rounds to 0 is greedy.
  CHECK(parse(R"({"do_sample": true, "temperature": 1e-50})").sampling.temperature == 0.0f);
  // Keys whose values change nothing are accepted.
  CHECK_NOTHROW(parse(R"({"num_beams": 1, "repetition_penalty": 1.0, "no_repeat_ngram_size": 0,
                "typical_p": 1.0, "min_length": 0, "bad_words_ids": null, "suppress_tokens": [],
                "remove_invalid_values": false, "length_penalty": 2.0, "early_stopping": true,
                "use_cache": false, "pad_token_id": 0})"));
}

TEST_CASE("the options of beam search are read, and null is the default") {
  const GenerationConfig config = parse(
      R"({"num_beams": 6, "num_return_sequences": 4, "length_penalty": -0.5,
          "early_stopping": true, "pad_token_id": 7, "diversity_penalty": 0.5})");
  CHECK(config.beams.num_beams == 6);
  CHECK(config.beams.num_return_sequences == 4);
  CHECK(config.num_return_sequences == 1);
  CHECK(config.beams.length_penalty == -0.5);
  using gpt2::EarlyStopping;
  for (const auto& [value, expected] : {std::pair{"true", EarlyStopping::yes},
                                        {"false", EarlyStopping::no},
                                        {"\"never\"", EarlyStopping::never},
                                        {"null", EarlyStopping::no}}) {
    const std::string json = R"({"num_beams": 2, "early_stopping": )" + std::string(value) + "}";
    CHECK(parse(json).beams.early_stopping == expected);
  }
  const gpt2::BeamOptions defaults =
      parse(R"({"num_beams": null, "num_return_sequences": null, "length_penalty": null,
                "num_beam_groups": null})")
          .beams;
  CHECK(defaults.num_beams == 1);
  CHECK(defaults.num_return_sequences == 1);
  CHECK(defaults.length_penalty == 1.0);
}

TEST_CASE("refused by name: settings that change the text and are not implemented") {
  for (const std::string field :
       {R"("encoder_repetition_penalty": 0.5)", R"("encoder_no_repeat_ngram_size": 2)",
        R"("penalty_alpha": 0.6)", R"("num_beam_groups": 2)", R"("guidance_scale": 1.3)",
        R"("max_time": 0)", R"("force_words_ids": [[1]])", R"("forced_decoder_ids": [[1, 2]])",
        R"("constraints": ["x"])", R"("stop_strings": ".")", R"("watermarking_config": {"x": 1})",
        R"("token_healing": true)", R"("dola_layers": "low")"}) {
    CAPTURE(field);
    check_refused([&] { (void)parse("{" + field + "}"); },
                  {"g: " + field.substr(1, field.find('"', 1) - 1) + " is", "not implemented"},
                  ErrorCode::unsupported);
  }
  check_refused([] { (void)parse(R"({"num_beams": 4, "do_sample": true})"); },
                {"g: num_beams is 4", "do_sample"}, ErrorCode::unsupported);
  check_refused([] { (void)parse(R"({"num_return_sequences": 3})"); },
                {"g: num_return_sequences is 3", "do_sample"}, ErrorCode::unsupported);
}

// sampling_fields_test tries the numbers of all sampling options at the ends of their ranges.
TEST_CASE("refused: values of the wrong type, out of range or contradictory") {
  const struct {
    std::string key;
    std::vector<std::string> values;
    std::string expected;
  } cases[] = {
      {"do_sample", {"1", "\"x\""}, "true or false"},
      {"max_length", {"\"x\"", "-1"}, "whole number"},
      {"max_new_tokens", {"1.5"}, "whole number"},
      {"temperature", {"-1", "9e-7"}, "1e-06 to 100"},
      {"num_beams", {"0", "\"x\"", "1025"}, "1 to 1024"},
      {"length_penalty", {"\"x\"", "1e300"}, "-20 to 20"},
      {"early_stopping", {"1"}, "\"never\""},
      {"num_return_sequences", {"0", "1048577"}, "1 to 1048576"},
      {"bad_words_ids", {"[1]", "[[]]", "[[1], 2]", "[[1], [-2]]", R"({"x": [1]})"}, "array"},
      {"sequence_bias",
       {R"({"x": 1})", "[[1, 2]]", "[[[1]]]", "[[[], 1.0]]", R"([[[1], "x"]])", "[[[1], 2.0, 3]]",
        "[[[1], 1e300]]", "[1]"},
       "-1e+30 to 1e+30"},
      {"exponential_decay_length_penalty",
       {"2.0", "[1]", "[1.5, 2.0]", "[-1, 2.0]", R"([1, "x"])", "[1, 2.0, 3]", "[1, 0]"},
       "1e-06 to 1e+06"},
  };
  for (const auto& [key, values, expected] : cases) {
    for (const std::string& value : values) {
      CAPTURE(key, value);
      const std::string prefix = key == "temperature" ? R"({"do_sample": true, ")" : R"({")";
      check_refused([&] { (void)parse(prefix + key + "\": " + value + "}"); },
                    {"g: " + key + " is", expected});
    }
  }
  check_refused([] { (void)parse("[]"); }, {"g is an array", "object"});
  check_refused([] { (void)parse(R"({"num_beams": 2, "num_return_sequences": 3})"); },
                {"g: num_return_sequences", "num_beams", "2", "3"});
}

TEST_CASE("a directory's generation_config.json is preferred to its config.json") {
  const gpt2::test::TemporaryDirectory directory;
  const auto load = [&] { return GenerationConfig::load(directory.path()); };
  directory.write("config.json", R"({"model_type": "gpt2", "top_k": 3, "do_sample": true})");
  CHECK(load().sampling.top_k == 3);
  CHECK(load().max_length == 1024);  // the n_positions of a GPT-2, beside 20 new tokens
  const auto file = directory.write("generation_config.json", R"({"top_k": 4})");
  CHECK(load().sampling.top_k == 4);
  CHECK_FALSE(load().do_sample);
  directory.write("generation_config.json", R"({"penalty_alpha": 0.5})");
  check_refused([&] { (void)load(); }, {file.string(), "penalty_alpha"}, ErrorCode::unsupported);
  std::filesystem::resize_file(file, (std::uintmax_t{16} << 20) + 1);  // a sparse file
  check_refused([&] { (void)load(); }, {file.string(), "16777217", "16777216"});
}

}  // namespace gpt2::test::generation_config_test
