#include "gpt2/config.h"

#include <filesystem>
#include <map>
#include <string>

#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::config_test {

namespace fs = std::filesystem;

namespace {

Config parse(std::string_view json) { return Config::parse(json, "c"); }

std::string refusal(std::string_view json) {
  return refusal_of([&] { (void)parse(json); });
}

gpt2::ErrorCode code_of(std::string_view json) {
  try {
    (void)parse(json);
  } catch (const gpt2::Error& error) {
    return error.code();
  }
  FAIL("accepted");
  return {};
}

// Expects that each config is refused with its message and with this code.
void check_refused(const std::map<std::string, std::string>& messages, gpt2::ErrorCode code) {
  for (const auto& [json, message] : messages) {
    CHECK(refusal(json) == message);
    CHECK(code_of(json) == code);
  }
}

}  // namespace

TEST_CASE("an empty config is HuggingFace's GPT2Config()") {
  const Config config = parse("{}");
  CHECK(config.vocab_size == 50257);
  CHECK(config.n_positions == 1024);
  CHECK(config.n_embd == 768);
  CHECK(config.n_layer == 12);
  CHECK(config.n_head == 12);
  CHECK(config.inner_dim() == 3072);
  CHECK(config.head_dim() == 64);
  CHECK(config.activation_function == ActivationFunction::gelu_new);
  CHECK(config.layer_norm_epsilon == 1e-5f);
  CHECK(config.scale_attn_weights);
  CHECK_FALSE(config.scale_attn_by_inverse_layer_idx);
  CHECK_FALSE(config.reorder_and_upcast_attn);
  CHECK(config.tie_word_embeddings);
  CHECK(config.bos_token_id == 50256);
  CHECK(config.eos_token_id == std::vector<gpt2::TokenId>{50256});
}

TEST_CASE("every field is read") {
  const Config config = parse(R"({
    "model_type": "gpt2", "vocab_size": 100, "n_positions": 10, "n_ctx": 10, "n_embd": 8,
    "n_layer": 3, "n_head": 2, "n_inner": 17, "activation_function": "relu",
    "layer_norm_epsilon": 0.25, "scale_attn_weights": false,
    "scale_attn_by_inverse_layer_idx": true, "reorder_and_upcast_attn": true,
    "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2,
    "attn_pdrop": 0.1, "architectures": ["GPT2LMHeadModel"], "pruned_heads": {},
    "add_cross_attention": false, "quantization_config": null, "anything": [{}]})");
  CHECK(config.vocab_size == 100);
  CHECK(config.n_positions == 10);
  CHECK(config.n_embd == 8);
  CHECK(config.n_layer == 3);
  CHECK(config.n_head == 2);
  CHECK(config.inner_dim() == 17);
  CHECK(config.head_dim() == 4);
  CHECK(config.activation_function == ActivationFunction::relu);
  CHECK(config.layer_norm_epsilon == 0.25f);
  CHECK_FALSE(config.scale_attn_weights);
  CHECK(config.scale_attn_by_inverse_layer_idx);
  CHECK(config.reorder_and_upcast_attn);
  CHECK_FALSE(config.tie_word_embeddings);
  CHECK(config.bos_token_id == 1);
  CHECK(config.eos_token_id == std::vector<gpt2::TokenId>{2});
}

TEST_CASE("aliases are honoured, and must not contradict the name") {
  const Config config = parse(R"({"hidden_size": 20, "max_position_embeddings": 7,
    "num_attention_heads": 4, "num_hidden_layers": 5})");
  CHECK(config.n_embd == 20);
  CHECK(config.n_positions == 7);
  CHECK(config.n_head == 4);
  CHECK(config.n_layer == 5);
  CHECK(refusal(R"({"n_layer": 5, "num_hidden_layers": 5})") == "(accepted)");
  CHECK(refusal(R"({"n_layer": 5, "num_hidden_layers": 6})") ==
        "c: n_layer is 5, but num_hidden_layers, another name for it, is 6");
}

TEST_CASE("n_ctx is used only if n_positions is missing") {
  CHECK(parse(R"({"n_ctx": 64})").n_positions == 64);
  CHECK(parse(R"({"n_ctx": 64, "n_positions": 32})").n_positions == 32);
  CHECK(parse(R"({"n_ctx": 0, "n_positions": 32})").n_positions == 32);
}

TEST_CASE("eos_token_id may be one id, several or none") {
  using Ids = std::vector<gpt2::TokenId>;
  CHECK(parse(R"({"eos_token_id": [5, 7]})").eos_token_id == Ids{5, 7});
  CHECK(parse(R"({"eos_token_id": []})").eos_token_id.empty());
  CHECK(parse(R"({"eos_token_id": null})").eos_token_id.empty());
  CHECK_FALSE(parse(R"({"bos_token_id": null})").bos_token_id);
}

TEST_CASE("special token ids outside the vocabulary are left out, because they cannot occur") {
  const Config config = parse(R"({"vocab_size": 10, "eos_token_id": [-1, 9, 10]})");
  CHECK_FALSE(config.bos_token_id);  // the default, 50256
  CHECK(config.eos_token_id == std::vector<gpt2::TokenId>{9});
}

TEST_CASE("every activation function has the names that HuggingFace gives it") {
  const std::map<std::string, ActivationFunction> functions = {
      {"gelu_new", ActivationFunction::gelu_new},
      {"gelu_pytorch_tanh", ActivationFunction::gelu_new},
      {"gelu_accurate", ActivationFunction::gelu_new},
      {"gelu_fast", ActivationFunction::gelu_fast},
      {"gelu", ActivationFunction::gelu},
      {"gelu_python", ActivationFunction::gelu},
      {"gelu_10", ActivationFunction::gelu_10},
      {"quick_gelu", ActivationFunction::quick_gelu},
      {"relu", ActivationFunction::relu},
      {"relu2", ActivationFunction::relu2},
      {"relu6", ActivationFunction::relu6},
      {"silu", ActivationFunction::silu},
      {"swish", ActivationFunction::silu},
      {"mish", ActivationFunction::mish},
      {"tanh", ActivationFunction::tanh},
      {"sigmoid", ActivationFunction::sigmoid},
      {"linear", ActivationFunction::linear},
      {"laplace", ActivationFunction::laplace},
  };
  for (const auto& [name, function] : functions) {
    const Config config = parse(R"({"activation_function": ")" + name + "\"}");
    CHECK(config.activation_function == function);
    CHECK(functions.at(std::string(gpt2::name_of(function))) == function);
  }
  CHECK(gpt2::name_of(ActivationFunction::gelu_new) == "gelu_new");
  CHECK(gpt2::name_of(ActivationFunction::gelu) == "gelu");
  CHECK(gpt2::name_of(ActivationFunction::silu) == "silu");
  CHECK(gpt2::name_of(static_cast<ActivationFunction>(200)).empty());
}

TEST_CASE("refused by name: features that are not implemented") {
  const std::map<std::string, std::string> messages = {
      {R"({"model_type": "gpt_neo"})", "c: model_type is 'gpt_neo'; only 'gpt2' is implemented"},
      {R"({"model_type": 2})", "c: model_type is 2; only 'gpt2' is implemented"},
      {R"({"architectures": ["BertModel"]})",
       "c: architectures is '[\"BertModel\"]'; only GPT2 models are implemented"},
      {R"({"activation_function": "gelu_newer"})",
       "c: activation_function is 'gelu_newer'; expected one of gelu_new, gelu_pytorch_tanh, "
       "gelu_accurate, gelu_fast, gelu, gelu_python, gelu_10, quick_gelu, relu, relu2, relu6, "
       "silu, "
       "swish, mish, tanh, sigmoid, linear, laplace"},
      {R"({"add_cross_attention": true})",
       "c: add_cross_attention is true; only plain decoders are implemented"},
      {R"({"is_encoder_decoder": true})",
       "c: is_encoder_decoder is true; only plain decoders are implemented"},
      {R"({"pruned_heads": {"1": [0]}})",
       "c: pruned_heads is not empty; models with heads cut out are not implemented"},
      {R"({"gpt2_cpp": {"dtype": "int2\u001b"}})",
       "c: gpt2_cpp.dtype is 'int2\\x1b'; expected 'int8' or 'int4'"},
      {R"({"quantization_config": {"quant_method": "gptq"}})",
       "c: quantization_config (quant_method 'gptq') is not implemented; use the original "
       "weights"},
      {R"({"quantization_config": {"load_in_8bit": true}})",
       "c: quantization_config (quant_method not given) is not implemented; use the original "
       "weights"},
  };
  check_refused(messages, gpt2::ErrorCode::unsupported);
  for (const std::string other : {"1", "null"}) {
    CHECK(refusal(R"({"activation_function": )" + other + "}")
              .find("c: activation_function is " + other + "; expected one of gelu_new, ") == 0);
  }
  for (const char* quantized : {"{}", "[]", "\"int8\"", R"({"dtype": null})"}) {
    const std::string message = refusal(R"({"gpt2_cpp": )" + std::string(quantized) + "}");
    CHECK(message == "c: gpt2_cpp.dtype is null; expected 'int8' or 'int4'");
  }
}

TEST_CASE("refused: a value of the wrong type; the message has key, found and expected") {
  const std::map<std::string, std::string> messages = {
      {"[]", "c is an array; expected an object"},
      {R"({"n_embd": "768"})", "c: n_embd is '768'; expected a whole number from 1 to 16777216"},
      {R"({"n_embd": 768.0})", "c: n_embd is 768.0; expected a whole number from 1 to 16777216"},
      {R"({"n_embd": -768})", "c: n_embd is -768; expected a whole number from 1 to 16777216"},
      {R"({"n_layer": null})", "c: n_layer is null; expected a whole number from 1 to 65536"},
      {R"({"n_layer": 1e3})", "c: n_layer is 1000.0; expected a whole number from 1 to 65536"},
      {R"({"n_layer": 99999999999999999999})",
       "c: n_layer is 1e+20; expected a whole number from 1 to 65536"},
      {R"({"n_inner": []})", "c: n_inner is an array; expected a whole number from 1 to 67108864"},
      {R"({"scale_attn_weights": 1})", "c: scale_attn_weights is 1; expected true or false"},
      {R"({"scale_attn_weights": null})", "c: scale_attn_weights is null; expected true or false"},
      {R"({"tie_word_embeddings": "no"})",
       "c: tie_word_embeddings is 'no'; expected true or false"},
      {R"({"layer_norm_epsilon": "1e-5"})",
       "c: layer_norm_epsilon is '1e-5'; expected a number from 0 to 3.4028235e+38"},
      {R"({"layer_norm_epsilon": -1e-5})",
       "c: layer_norm_epsilon is -1e-05; expected a number from 0 to 3.4028235e+38"},
      {R"({"layer_norm_epsilon": 1e39})",
       "c: layer_norm_epsilon is 1e+39; expected a number from 0 to 3.4028235e+38"},
      {R"({"bos_token_id": "x"})",
       "c: bos_token_id is 'x'; expected a whole number from "
       "-2147483648 to 2147483647"},
      {R"({"bos_token_id": 2147483648})",
       "c: bos_token_id is 2147483648; expected a whole number from "
       "-2147483648 to 2147483647"},
      {R"({"eos_token_id": {}})",
       "c: eos_token_id is an object; expected a whole number from "
       "-2147483648 to 2147483647"},
      {R"({"eos_token_id": [1, -2147483649]})",
       "c: eos_token_id is -2147483649; expected a whole number from "
       "-2147483648 to 2147483647"},
      {R"({"eos_token_id": 1.5})",
       "c: eos_token_id is 1.5; expected a whole number from "
       "-2147483648 to 2147483647"},
  };
  check_refused(messages, gpt2::ErrorCode::invalid_file);
  CHECK(refusal("{\"n_embd\": }").find("c: invalid JSON at column 12") == 0);
}

TEST_CASE("refused: numbers that cannot describe a model") {
  const std::map<std::string, std::string> messages = {
      {R"({"vocab_size": 0})", "c: vocab_size is 0; expected a whole number from 1 to 2147483647"},
      {R"({"vocab_size": 2147483648})",
       "c: vocab_size is 2147483648; expected a whole number from 1 to 2147483647"},
      {R"({"n_positions": 0})", "c: n_positions is 0; expected a whole number from 1 to 16777216"},
      {R"({"n_embd": 0})", "c: n_embd is 0; expected a whole number from 1 to 16777216"},
      {R"({"n_head": 0})", "c: n_head is 0; expected a whole number from 1 to 16777216"},
      {R"({"n_layer": 0})", "c: n_layer is 0; expected a whole number from 1 to 65536"},
      {R"({"n_layer": 18446744073709551615})",
       "c: n_layer is 18446744073709551615; expected a whole number from 1 to 65536"},
      {R"({"n_inner": 0})", "c: n_inner is 0; expected a whole number from 1 to 67108864"},
      {R"({"n_inner": 99999999999})",
       "c: n_inner is 99999999999; expected a whole number from 1 to 67108864"},
      {R"({"n_embd": 10, "n_head": 3})", "c: n_embd 10 is not a multiple of n_head 3"},
      {R"({"n_embd": 16777216, "n_positions": 16777216, "n_layer": 65536, "n_head": 1})",
       "c: n_layer 65536 with n_positions 16777216 and n_embd 16777216 takes more memory than can "
       "be addressed"},
  };
  check_refused(messages, gpt2::ErrorCode::invalid_file);
}

TEST_CASE("Config::load reads a file, and its error messages name the file") {
  const gpt2::test::TemporaryDirectory directory;
  CHECK(Config::load(directory.write("config.json", R"({"n_layer": 3})")).n_layer == 3);
  const fs::path bad = directory.write("bad.json", R"({"n_layer": 0})");
  CHECK(refusal_of([&] { (void)Config::load(bad); }) ==
        bad.string() + ": n_layer is 0; expected a whole number from 1 to 65536");
  CHECK(refusal_of([&] { (void)Config::load(directory.path() / "none"); }).find("cannot open") ==
        0);
  fs::resize_file(bad, (std::uintmax_t{16} << 20) + 1);  // sparse: it takes no disk space
  CHECK(refusal_of([&] { (void)Config::load(bad); }) ==
        bad.string() + ": 16777217 bytes; expected at most 16777216");
}

TEST_CASE("the special tokens in generation_config.json override those in config.json") {
  using Ids = std::vector<gpt2::TokenId>;
  const gpt2::test::TemporaryDirectory directory;
  const fs::path file = directory.write("config.json", R"({"vocab_size": 9, "eos_token_id": 3})");
  const auto with = [&](const char* json) {
    directory.write("generation_config.json", json);
    return Config::load(file);
  };
  CHECK(Config::load(file).eos_token_id == Ids{3});
  CHECK(with("{}").eos_token_id == Ids{3});
  CHECK(with(R"({"eos_token_id": 4, "bos_token_id": 5})").eos_token_id == Ids{4});
  CHECK(with(R"({"eos_token_id": [4, 5, 99]})").eos_token_id == Ids{4, 5});
  CHECK(with(R"({"eos_token_id": null, "bos_token_id": 5})").eos_token_id.empty());
  CHECK(Config::load(file).bos_token_id == 5);
  const std::string where = (directory.path() / "generation_config.json").string();
  CHECK(refusal_of([&] { (void)with("[]"); }) == where + " is an array; expected an object");
  CHECK(refusal_of([&] { (void)with(R"({"eos_token_id": "x"})"); }) ==
        where +
            ": eos_token_id is 'x'; expected a whole number from "
            "-2147483648 to 2147483647");
}

TEST_CASE("the configs that HuggingFace wrote for the golden cases load") {
  std::size_t loaded = 0;
  for (const fs::path& folder : fs::directory_iterator(fs::path(GPT2_TEST_DATA) / "oracle/cases")) {
    if (!fs::exists(folder / "config.json")) continue;
    CAPTURE(folder);
    CHECK(Config::load(folder / "config.json").vocab_size > 0);
    ++loaded;
  }
  CHECK(loaded >= 40);
  const fs::path minimal = fs::path(GPT2_TEST_DATA) / "oracle/cases/config_minimal/config.json";
  CHECK(Config::load(minimal).vocab_size == 211);
}

TEST_CASE("real configs load, and the one of a GPTQ model is refused") {
  const fs::path folder = fs::path(GPT2_SHARED_DIR) / "models/configs";
  if (!fs::exists(folder)) {
    WARN("skipped: no " << folder);
    return;
  }
  struct Sizes {
    std::size_t n_embd, n_layer, n_head;
  };
  const std::map<std::string, Sizes> models = {
      {"DialoGPT-117M", {768, 12, 12}},
      {"DialoGPT-345M", {1024, 24, 16}},
      {"DialoGPT-762M", {1280, 36, 20}},
      {"dialogpt-medium-finetuned", {1024, 24, 16}},
      {"dialogpt-small-finetuned", {768, 12, 12}},
      {"distilgpt2", {768, 6, 12}},
      {"gpt2", {768, 12, 12}},
      {"gpt2-finetuned-faq", {768, 12, 12}},
      {"gpt2-large", {1280, 36, 20}},
      {"gpt2-xl", {1600, 48, 25}},
      {"gpt2-yelp-finetuned", {768, 12, 12}},
  };
  for (const auto& [name, sizes] : models) {
    CAPTURE(name);
    const Config config = Config::load(folder / name / "config.json");
    CHECK(config.n_embd == sizes.n_embd);
    CHECK(config.n_layer == sizes.n_layer);
    CHECK(config.n_head == sizes.n_head);
    CHECK(config.vocab_size == 50257);
    CHECK(config.n_positions == 1024);
    CHECK(config.activation_function == ActivationFunction::gelu_new);
    CHECK(config.eos_token_id == std::vector<gpt2::TokenId>{50256});
  }
  const std::string message =
      refusal_of([&] { (void)Config::load(folder / "gpt2-gptq-4bit" / "config.json"); });
  CHECK(message.find("quantization_config (quant_method 'gptq')") != std::string::npos);
}

}  // namespace gpt2::test::config_test
