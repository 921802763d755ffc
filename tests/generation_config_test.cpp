#include "gpt2/generation_config.h"

#include <string>

#include "gpt2/error.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

using gpt2::GenerationConfig;
using gpt2::test::refusal_of;

namespace {

const std::string kAdvice =
    ", which is not implemented; remove it from the file, or do without --hf-defaults";

GenerationConfig parse(std::string_view json) { return GenerationConfig::parse(json, "g"); }

std::string refusal(std::string_view json) {
  return refusal_of([&] { (void)parse(json); });
}

}  // namespace

TEST_CASE("an empty generation config is HuggingFace's GenerationConfig()") {
  const GenerationConfig config = parse("{}");
  CHECK_FALSE(config.do_sample);
  CHECK(config.temperature == 1.0f);
  CHECK(config.top_k == 50);
  CHECK(config.top_p == 1.0f);
  CHECK(config.max_length == 20);
  CHECK_FALSE(config.max_new_tokens);
}

TEST_CASE("every field of a generation config is read, and null is the default") {
  const GenerationConfig config =
      parse(R"({"do_sample": true, "temperature": 0.5, "top_k": 7, "top_p": 0.25, "max_length": 30,
                "max_new_tokens": 9, "eos_token_id": [1, 2], "transformers_version": "4.30.0"})");
  CHECK(config.do_sample);
  CHECK(config.temperature == 0.5f);
  CHECK(config.top_k == 7);
  CHECK(config.top_p == 0.25f);
  CHECK(config.max_length == 30);
  CHECK(config.max_new_tokens == 9);
  CHECK(parse(R"({"top_k": null, "do_sample": null, "temperature": null})").top_k == 50);
}

TEST_CASE("a temperature that is too small for a sampler is greedy") {
  CHECK(parse(R"({"temperature": 1e-50})").temperature == 0.0f);
  CHECK(parse(R"({"temperature": 9e-7})").temperature == 0.0f);
  CHECK(parse(R"({"temperature": 1e-6})").temperature == 1e-6f);
}

TEST_CASE("keys whose values change nothing are accepted") {
  CHECK(refusal(R"({"num_beams": 1, "repetition_penalty": 1.0, "no_repeat_ngram_size": 0,
                    "typical_p": 1.0, "min_length": 0, "bad_words_ids": null, "suppress_tokens": [],
                    "remove_invalid_values": false, "length_penalty": 2.0, "early_stopping": true,
                    "use_cache": false, "pad_token_id": 0})") == "(accepted)");
}

TEST_CASE("refused by name: settings that change the text and are not implemented") {
  for (const std::string field : {R"("num_beams": 2)",
                                  R"("num_beam_groups": 2)",
                                  R"("num_return_sequences": 3)",
                                  R"("repetition_penalty": 1.3)",
                                  R"("encoder_repetition_penalty": 0.5)",
                                  R"("no_repeat_ngram_size": 2)",
                                  R"("encoder_no_repeat_ngram_size": 2)",
                                  R"("typical_p": 0.9)",
                                  R"("min_p": 0.1)",
                                  R"("epsilon_cutoff": 0.1)",
                                  R"("eta_cutoff": 0.1)",
                                  R"("penalty_alpha": 0.6)",
                                  R"("guidance_scale": 1.5)",
                                  R"("min_length": 5)",
                                  R"("min_new_tokens": 5)",
                                  R"("max_time": 0)",
                                  R"("forced_bos_token_id": 0)",
                                  R"("forced_eos_token_id": 0)",
                                  R"("bad_words_ids": [[1]])",
                                  R"("force_words_ids": [[1]])",
                                  R"("constraints": ["x"])",
                                  R"("suppress_tokens": [1])",
                                  R"("begin_suppress_tokens": [1])",
                                  R"("sequence_bias": {"x": 1})",
                                  R"("exponential_decay_length_penalty": [1, 2.0])",
                                  R"("stop_strings": ".")",
                                  R"("remove_invalid_values": true)",
                                  R"("watermarking_config": {"x": 1})",
                                  R"("token_healing": true)",
                                  R"("dola_layers": "low")"}) {
    const std::string message = refusal("{" + field + "}");
    const std::string key = field.substr(1, field.find('"', 1) - 1);
    CAPTURE(field, message);
    CHECK(message.starts_with("g: " + key + " is "));
    CHECK(message.ends_with(kAdvice));
  }
  CHECK(refusal(R"({"repetition_penalty": 1.3})") == "g: repetition_penalty is 1.3" + kAdvice);
}

TEST_CASE("refused: values of the wrong type or out of range") {
  CHECK(refusal("[]") == "g is an array; expected an object");
  CHECK(refusal(R"({"do_sample": 1})") == "g: do_sample is 1; expected true or false");
  CHECK(refusal(R"({"top_k": -1})") ==
        "g: top_k is -1; expected a whole number from 0 to "
        "18446744073709551615");
  CHECK(refusal(R"({"max_length": "x"})") ==
        "g: max_length is 'x'; expected a whole number from 0 to "
        "18446744073709551615");
  CHECK(refusal(R"({"max_new_tokens": 1.5})") ==
        "g: max_new_tokens is 1.5; expected a whole number from 0 to "
        "18446744073709551615");
  CHECK(refusal(R"({"top_p": 1.5})") == "g: top_p is 1.5; expected a number from 0 to 1");
  CHECK(refusal(R"({"temperature": -1})") ==
        "g: temperature is -1; expected a number from 0 to 100");
}

TEST_CASE("a directory's generation_config.json is preferred to its config.json") {
  const gpt2::test::TemporaryDirectory directory;
  directory.write("config.json", R"({"model_type": "gpt2", "top_k": 3, "do_sample": true})");
  CHECK(GenerationConfig::load(directory.path()).top_k == 3);
  const auto file = directory.write("generation_config.json", R"({"top_k": 4})");
  CHECK(GenerationConfig::load(directory.path()).top_k == 4);
  CHECK_FALSE(GenerationConfig::load(directory.path()).do_sample);
  directory.write("generation_config.json", R"({"num_beams": 4})");
  CHECK(refusal_of([&] { (void)GenerationConfig::load(directory.path()); }) ==
        file.string() + ": num_beams is 4" + kAdvice);
  std::filesystem::resize_file(file, (std::uintmax_t{16} << 20) + 1);  // a sparse file
  CHECK(refusal_of([&] { (void)GenerationConfig::load(directory.path()); }) ==
        file.string() + ": 16777217 bytes; expected at most 16777216");
}
