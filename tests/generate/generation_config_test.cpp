#include "gpt2/generation_config.h"

#include <string>
#include <vector>

#include "gpt2/error.h"
#include "gpt2/option_fields.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::generation_config_test {

namespace {

using Ids = std::vector<gpt2::TokenId>;

const std::string kAdvice = ", which is not implemented; remove it from the file";

GenerationConfig parse(std::string_view json) { return GenerationConfig::parse(json, "g"); }

std::string refusal(std::string_view json) {
  return refusal_of([&] { (void)parse(json); });
}

}  // namespace

TEST_CASE("an empty generation config is HuggingFace's GenerationConfig()") {
  const GenerationConfig config = parse("{}");
  CHECK_FALSE(config.do_sample);
  CHECK(config.sampling.temperature == 0.0f);
  CHECK(config.sampling.top_k == 50);
  CHECK(config.sampling.top_p == 1.0f);
  CHECK(config.sampling.repetition_penalty == 1.0f);
  CHECK(config.max_length == 20);
  CHECK_FALSE(config.max_new_tokens);
}

TEST_CASE("every field of a generation config is read, and null has no effect") {
  const GenerationConfig config =
      parse(R"({"do_sample": true, "temperature": 0.5, "top_k": 7, "top_p": 0.25, "max_length": 30,
                "max_new_tokens": 9, "eos_token_id": [1, 2], "transformers_version": "4.30.0"})");
  CHECK(config.do_sample);
  CHECK(config.sampling.temperature == 0.5f);
  CHECK(config.sampling.top_k == 7);
  CHECK(config.sampling.top_p == 0.25f);
  CHECK(config.max_length == 30);
  CHECK(config.max_new_tokens == 9);
  const GenerationConfig endless =
      parse(R"({"max_length": 18446744073709551615, "max_new_tokens": 18446744073709551615})");
  CHECK(endless.max_length == gpt2::kMaxOptionTokens);
  CHECK(endless.max_new_tokens == gpt2::kMaxOptionTokens);
  // GenerationConfig sets kwargs.pop("top_k", 50), and generate() adds no filter if that is None.
  CHECK(parse(R"({"top_k": null, "do_sample": null, "temperature": null})").sampling.top_k == 0);
}

TEST_CASE("the options of the logits processors are read, and null is the default") {
  const gpt2::SamplingOptions options =
      parse(R"({"min_p": 0.125, "typical_p": 0.5, "epsilon_cutoff": 0.25, "eta_cutoff": 0.75,
                "sequence_bias": [[[1, 2], -2.5], [[3], 4]], "repetition_penalty": 1.5,
                "no_repeat_ngram_size": 3, "bad_words_ids": [[5], [6, 7]], "min_length": 8,
                "min_new_tokens": 9, "forced_bos_token_id": 10, "forced_eos_token_id": 11,
                "remove_invalid_values": true, "exponential_decay_length_penalty": [12, 1.25],
                "suppress_tokens": [13, 14], "begin_suppress_tokens": [15],
                "renormalize_logits": true})")
          .sampling;
  CHECK(options.min_p == 0.125f);
  CHECK(options.typical_p == 0.5f);
  CHECK(options.epsilon_cutoff == 0.25f);
  CHECK(options.eta_cutoff == 0.75f);
  REQUIRE(options.sequence_bias.size() == 2);
  CHECK(options.sequence_bias[0].ids == Ids{1, 2});
  CHECK(options.sequence_bias[0].bias == -2.5f);
  CHECK(options.sequence_bias[1].ids == Ids{3});
  CHECK(options.sequence_bias[1].bias == 4.0f);
  CHECK(options.repetition_penalty == 1.5f);
  CHECK(options.no_repeat_ngram_size == 3);
  CHECK(options.bad_words_ids == std::vector<Ids>{{5}, {6, 7}});
  CHECK(options.min_length == 8);
  CHECK(options.min_new_tokens == 9);
  CHECK(options.forced_bos_token_id == 10);
  CHECK(options.forced_eos_token_id == Ids{11});
  CHECK(options.remove_invalid_values);
  REQUIRE(options.exponential_decay_length_penalty);
  CHECK(options.exponential_decay_length_penalty->start == 12);
  CHECK(options.exponential_decay_length_penalty->factor == 1.25);
  CHECK(options.suppress_tokens == Ids{13, 14});
  CHECK(options.begin_suppress_tokens == Ids{15});
  CHECK(options.renormalize_logits);

  CHECK(parse(R"({"forced_eos_token_id": [11, 3]})").sampling.forced_eos_token_id == Ids{11, 3});
  CHECK(refusal(R"({"min_p": null, "sequence_bias": null, "bad_words_ids": null,
                    "forced_bos_token_id": null, "forced_eos_token_id": null,
                    "exponential_decay_length_penalty": null, "suppress_tokens": null})") ==
        "(accepted)");
}

TEST_CASE("the options of beam search are read, and null is the default") {
  const gpt2::BeamOptions beams =
      parse(R"({"num_beams": 6, "num_return_sequences": 4, "length_penalty": -0.5,
                "early_stopping": true, "pad_token_id": 7, "diversity_penalty": 0.5})")
          .beams;
  CHECK(beams.num_beams == 6);
  CHECK(beams.num_return_sequences == 4);
  CHECK(beams.length_penalty == -0.5);
  CHECK(beams.early_stopping == gpt2::EarlyStopping::yes);

  const auto early_stopping = [](const std::string& value) {
    return parse(R"({"num_beams": 2, "early_stopping": )" + value + "}").beams.early_stopping;
  };
  CHECK(early_stopping("false") == gpt2::EarlyStopping::no);
  CHECK(early_stopping("\"never\"") == gpt2::EarlyStopping::never);
  CHECK(early_stopping("null") == gpt2::EarlyStopping::no);

  const gpt2::BeamOptions defaults =
      parse(R"({"num_beams": null, "num_return_sequences": null, "length_penalty": null,
                "num_beam_groups": null})")
          .beams;
  CHECK(defaults.num_beams == 1);
  CHECK(defaults.num_return_sequences == 1);
  CHECK(defaults.length_penalty == 1.0);
}

TEST_CASE("refused: options of beam search of the wrong type, out of range or contradictory") {
  CHECK(refusal(R"({"num_beams": 0})") == 
        "g: num_beams is 0; expected a whole number from 1 to 1024");
  CHECK(refusal(R"({"num_beams": "x"})").starts_with("g: num_beams is 'x'; expected a whole"));
  CHECK(refusal(R"({"num_beams": 2, "num_return_sequences": 3})") ==
        "g: num_return_sequences must be at most num_beams, which is 2, got 3");
  CHECK(refusal(R"({"length_penalty": "x"})") ==
        "g: length_penalty is 'x'; expected a number from -20 to 20");
  CHECK(refusal(R"({"length_penalty": 1e300})") ==
        "g: length_penalty is 1e+300; expected a number from -20 to 20");
  CHECK(refusal(R"({"early_stopping": 1})") ==
        "g: early_stopping is 1; expected false, true or \"never\"");
  CHECK(refusal(R"({"num_beams": 4, "do_sample": true})") ==
        "g: num_beams is 4 and do_sample is true, which is not implemented together; remove one of "
        "them from the file");
}

TEST_CASE("without beams, num_return_sequences is how many texts are drawn") {
  const GenerationConfig config = parse(R"({"do_sample": true, "num_return_sequences": 3})");
  CHECK(config.num_return_sequences == 3);
  CHECK(config.beams.num_return_sequences == 1);
  CHECK(parse(R"({"num_beams": 4, "num_return_sequences": 3})").num_return_sequences == 1);
  CHECK(refusal(R"({"num_return_sequences": 3})") ==
        "g: num_return_sequences is 3, but without do_sample and beams all texts are the same; "
        "remove it from the file");
  CHECK(
      refusal(R"({"do_sample": true, "num_return_sequences": 0})")
          .starts_with("g: num_return_sequences is 0; expected a whole number from 1 to 1048576"));
  CHECK(refusal(R"({"do_sample": true, "num_return_sequences": 1048577})")
            .starts_with("g: num_return_sequences is 1048577; expected "));
}

TEST_CASE("a temperature of 0 is greedy, and a smaller one than a sampler takes is refused") {
  const auto temperature = [](const std::string& number) {
    return parse(R"({"do_sample": true, "temperature": )" + number + "}").sampling.temperature;
  };
  CHECK(temperature("1e-50") == 0.0f);
  CHECK(refusal(R"({"do_sample": true, "temperature": 9e-7})") ==
        "g: temperature is 9e-07; expected 0 or a number from 1e-06 to 100");
  CHECK(temperature("1e-6") == 1e-6f);
}

TEST_CASE("keys whose values change nothing are accepted") {
  CHECK(refusal(R"({"num_beams": 1, "repetition_penalty": 1.0, "no_repeat_ngram_size": 0,
                    "typical_p": 1.0, "min_length": 0, "bad_words_ids": null, "suppress_tokens": [],
                    "remove_invalid_values": false, "length_penalty": 2.0, "early_stopping": true,
                    "use_cache": false, "pad_token_id": 0})") == "(accepted)");
}

TEST_CASE("refused by name: settings that change the text and are not implemented") {
  for (const std::string field :
       {R"("encoder_repetition_penalty": 0.5)", R"("encoder_no_repeat_ngram_size": 2)",
        R"("penalty_alpha": 0.6)", R"("num_beam_groups": 2)", R"("guidance_scale": 1.5)", R"("max_time": 0)",
        R"("force_words_ids": [[1]])", R"("forced_decoder_ids": [[1, 2]])",
        R"("constraints": ["x"])", R"("stop_strings": ".")", R"("watermarking_config": {"x": 1})",
        R"("token_healing": true)", R"("dola_layers": "low")"}) {
    const std::string message = refusal("{" + field + "}");
    const std::string key = field.substr(1, field.find('"', 1) - 1);
    CAPTURE(field, message);
    CHECK(message.starts_with("g: " + key + " is "));
    CHECK(message.ends_with(kAdvice));
  }
  CHECK(refusal(R"({"guidance_scale": 1.3})") == "g: guidance_scale is 1.3" + kAdvice);
}

TEST_CASE("refused: values of the wrong type or out of range") {
  CHECK(refusal("[]") == "g is an array; expected an object");
  CHECK(refusal(R"({"do_sample": 1})") == "g: do_sample is 1; expected true or false");
  CHECK(refusal(R"({"top_k": -1})") ==
        "g: top_k is -1; expected a whole number from 0 to "
        "1000000000");
  CHECK(refusal(R"({"max_length": "x"})") ==
        "g: max_length is 'x'; expected a whole number from 0 to "
        "18446744073709551615");
  CHECK(refusal(R"({"max_new_tokens": 1.5})") ==
        "g: max_new_tokens is 1.5; expected a whole number from 0 to "
        "18446744073709551615");
  CHECK(refusal(R"({"top_p": 1.5})") == "g: top_p is 1.5; expected a number from 0 to 1");
  CHECK(refusal(R"({"temperature": -1})") ==
        "g: temperature is -1; expected 0 or a number from 1e-06 to 100");
}

TEST_CASE("refused: options of logits processors of the wrong type or out of range") {
  const std::string ids = "; expected a token id or an array of token ids";
  CHECK(refusal(R"({"suppress_tokens": -3})") == "g: suppress_tokens is -3" + ids);
  CHECK(refusal(R"({"suppress_tokens": [1, -1]})") == "g: suppress_tokens is an array" + ids);
  CHECK(refusal(R"({"begin_suppress_tokens": [2147483648]})") ==
        "g: begin_suppress_tokens is an array" + ids);
  CHECK(refusal(R"({"begin_suppress_tokens": [1.5]})") ==
        "g: begin_suppress_tokens is an array" + ids);
  CHECK(refusal(R"({"forced_bos_token_id": [1]})") ==
        "g: forced_bos_token_id is an array; expected a token id");
  CHECK(refusal(R"({"forced_bos_token_id": -1})") ==
        "g: forced_bos_token_id is -1; expected a token id");
  CHECK(refusal(R"({"forced_eos_token_id": "x"})") ==
        "g: forced_eos_token_id is 'x'; expected a token id or an array of token ids");
  for (const std::string words : {"[1]", "[[]]", "[[1], 2]", "[[1], [-2]]", R"({"x": [1]})"}) {
    const std::string message = refusal(R"({"bad_words_ids": )" + words + "}");
    CAPTURE(words, message);
    CHECK(message.starts_with("g: bad_words_ids is "));
    CHECK(message.ends_with("; expected an array of arrays of token ids, none of them empty"));
  }
  for (const std::string biases : {R"({"x": 1})", "[[1, 2]]", "[[[1]]]", "[[[], 1.0]]",
                                   R"([[[1], "x"]])", "[[[1], 2.0, 3]]", "[[[1], 1e300]]", "[1]"}) {
    const std::string message = refusal(R"({"sequence_bias": )" + biases + "}");
    CAPTURE(biases, message);
    CHECK(message.starts_with("g: sequence_bias is "));
    CHECK(message.ends_with("; expected an array of pairs [[token id, ...], bias] with a bias from "
                            "-1e+30 to 1e+30"));
  }
  for (const std::string decay :
       {"2.0", "[1]", "[1.5, 2.0]", "[-1, 2.0]", R"([1, "x"])", "[1, 2.0, 3]"}) {
    const std::string message = refusal(R"({"exponential_decay_length_penalty": )" + decay + "}");
    CAPTURE(decay, message);
    CHECK(message.starts_with("g: exponential_decay_length_penalty is "));
    CHECK(message.ends_with("; expected [start, factor] with a factor from 1e-06 to 1e+06"));
  }
  const std::string penalty = "; expected a number from 1e-06 to 1e+06";
  CHECK(refusal(R"({"repetition_penalty": 0})") == "g: repetition_penalty is 0" + penalty);
  CHECK(refusal(R"({"repetition_penalty": -1.5})") == "g: repetition_penalty is -1.5" + penalty);
  CHECK(refusal(R"({"typical_p": 0})") == "g: typical_p is 0; expected a number from 1e-06 to 1");
  CHECK(refusal(R"({"min_p": 1.5})") == "g: min_p is 1.5; expected a number from 0 to 1");
  const std::string cutoff = " is 1; expected a number from 0 to 0.9999";
  CHECK(refusal(R"({"epsilon_cutoff": 1})") == "g: epsilon_cutoff" + cutoff);
  CHECK(refusal(R"({"eta_cutoff": 1})") == "g: eta_cutoff" + cutoff);
  CHECK(refusal(R"({"sequence_bias": [[[1], 2e30]]})").starts_with("g: sequence_bias is an array"));
  CHECK(refusal(R"({"exponential_decay_length_penalty": [1, 0]})")
            .starts_with("g: exponential_decay_length_penalty is an array"));
  CHECK(refusal(R"({"min_length": -1})").starts_with("g: min_length is -1; expected a whole"));
  CHECK(refusal(R"({"remove_invalid_values": 1})") ==
        "g: remove_invalid_values is 1; expected true or false");
}

TEST_CASE("a directory's generation_config.json is preferred to its config.json") {
  const gpt2::test::TemporaryDirectory directory;
  directory.write("config.json", R"({"model_type": "gpt2", "top_k": 3, "do_sample": true})");
  CHECK(GenerationConfig::load(directory.path()).sampling.top_k == 3);
  const auto file = directory.write("generation_config.json", R"({"top_k": 4})");
  CHECK(GenerationConfig::load(directory.path()).sampling.top_k == 4);
  CHECK_FALSE(GenerationConfig::load(directory.path()).do_sample);
  directory.write("generation_config.json", R"({"penalty_alpha": 0.5})");
  CHECK(refusal_of([&] { (void)GenerationConfig::load(directory.path()); }) ==
        file.string() + ": penalty_alpha is 0.5" + kAdvice);
  std::filesystem::resize_file(file, (std::uintmax_t{16} << 20) + 1);  // a sparse file
  CHECK(refusal_of([&] { (void)GenerationConfig::load(directory.path()); }) ==
        file.string() + ": 16777217 bytes; expected at most 16777216");
}

}  // namespace gpt2::test::generation_config_test
