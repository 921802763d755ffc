#include "gpt2/config.h"

#include "support/test.h"

namespace gpt2::test::config_test {

namespace fs = std::filesystem;

namespace {

Config parse(std::string_view json) { return Config::parse(json, "c"); }

using Ids = std::vector<TokenId>;
using Numbers = std::vector<std::size_t>;

Numbers numbers_of(const Config& config) {
  return {config.vocab_size, config.n_positions, config.n_embd,    config.n_layer,
          config.n_head,     config.inner_dim(), config.head_dim()};
}

std::vector<bool> flags_of(const Config& config) {
  return {config.scale_attn_weights, config.scale_attn_by_inverse_layer_idx,
          config.reorder_and_upcast_attn, config.tie_word_embeddings};
}

}  // namespace

TEST_CASE("an empty config is HuggingFace's GPT2Config()") {
  const Config config = parse("{}");
  CHECK(numbers_of(config) == Numbers{50257, 1024, 768, 12, 12, 3072, 64});
  CHECK(flags_of(config) == std::vector{true, false, false, true});
  CHECK(config.activation_function == ActivationFunction::gelu_new);
  CHECK(config.layer_norm_epsilon == 1e-5f);
  CHECK(config.bos_token_id == 50256);
  CHECK(config.eos_token_id == Ids{50256});
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
  CHECK(numbers_of(config) == Numbers{100, 10, 8, 3, 2, 17, 4});
  CHECK(flags_of(config) == std::vector{false, true, true, false});
  CHECK(config.activation_function == ActivationFunction::relu);
  CHECK(config.layer_norm_epsilon == 0.25f);
  CHECK(config.bos_token_id == 1);
  CHECK(config.eos_token_id == Ids{2});
}

TEST_CASE(
    "aliases are honoured, and special token ids may be many, none or not in the vocabulary") {
  const Config config = parse(R"({"hidden_size": 20, "max_position_embeddings": 7,
    "num_attention_heads": 4, "num_hidden_layers": 5})");
  CHECK(config.n_embd == 20);
  CHECK(config.n_positions == 7);
  CHECK(config.n_head == 4);
  CHECK(config.n_layer == 5);
  CHECK_NOTHROW(parse(R"({"n_layer": 5, "num_hidden_layers": 5})"));
  // n_ctx is used only if n_positions is missing.
  CHECK(parse(R"({"n_ctx": 64})").n_positions == 64);
  CHECK(parse(R"({"n_ctx": 0, "n_positions": 32})").n_positions == 32);
  CHECK(parse(R"({"eos_token_id": [5, 7]})").eos_token_id == Ids{5, 7});
  CHECK(parse(R"({"eos_token_id": []})").eos_token_id.empty());
  CHECK(parse(R"({"eos_token_id": null})").eos_token_id.empty());
  CHECK_FALSE(parse(R"({"bos_token_id": null})").bos_token_id);
  const Config small = parse(R"({"vocab_size": 10, "eos_token_id": [-1, 9, 10]})");
  CHECK_FALSE(small.bos_token_id);  // the default, 50256
  CHECK(small.eos_token_id == Ids{9});
}

TEST_CASE("every activation function has the names that HuggingFace gives it") {
  const std::pair<ActivationFunction, std::vector<std::string>> functions[] = {
      {ActivationFunction::gelu_new,
       {"gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate"}},
      {ActivationFunction::gelu_fast, {"gelu_fast"}},
      {ActivationFunction::gelu, {"gelu", "gelu_python"}},
      {ActivationFunction::gelu_10, {"gelu_10"}},
      {ActivationFunction::quick_gelu, {"quick_gelu"}},
      {ActivationFunction::relu, {"relu"}},
      {ActivationFunction::relu2, {"relu2"}},
      {ActivationFunction::relu6, {"relu6"}},
      {ActivationFunction::silu, {"silu", "swish"}},
      {ActivationFunction::mish, {"mish"}},
      {ActivationFunction::tanh, {"tanh"}},
      {ActivationFunction::sigmoid, {"sigmoid"}},
      {ActivationFunction::linear, {"linear"}},
      {ActivationFunction::laplace, {"laplace"}},
      {ActivationFunction::hardswish, {"hardswish"}},
      {ActivationFunction::leaky_relu, {"leaky_relu"}},
      {ActivationFunction::sqrtsoftplus, {"sqrtsoftplus"}}};
  for (const auto& [function, names] : functions) {
    for (const std::string& name : names) {
      const Config config = parse(R"({"activation_function": ")" + name + "\"}");
      CHECK(config.activation_function == function);
    }
    CHECK(std::ranges::count(names, gpt2::name_of(function)) == 1);
  }
  CHECK(gpt2::name_of(static_cast<ActivationFunction>(200)).empty());
}

TEST_CASE("refused by name: features that are not implemented") {
  const std::pair<const char*, std::string> cases[] = {
      {R"({"model_type": "gpt_neo"})", "model_type is 'gpt_neo'"},
      {R"({"architectures": ["BertModel"]})", "architectures is '[\"BertModel\"]'"},
      {R"({"activation_function": "gelu_newer"})", "activation_function is 'gelu_newer'"},
      {R"({"add_cross_attention": true})", "add_cross_attention is true"},
      {R"({"is_encoder_decoder": true})", "is_encoder_decoder is true"},
      {R"({"pruned_heads": {"1": [0]}})", "pruned_heads"},
      {R"({"gpt2_cpp": {"dtype": "int2\u001b"}})", "gpt2_cpp.dtype is 'int2\\x1b'"},
      {R"({"quantization_config": {"quant_method": "gptq"}})", "quant_method is 'gptq'"},
      {R"({"quantization_config": {"load_in_8bit": true}})", "quantization_config"},
  };
  for (const auto& [json, fact] : cases) {
    CAPTURE(json);
    check_refused([&] { (void)parse(json); }, {"c: ", fact}, ErrorCode::unsupported);
  }
}

TEST_CASE("refused: values of the wrong type, and numbers that cannot describe a model") {
  const struct {
    std::string key;
    std::vector<std::pair<std::string, std::string>> values;  // in JSON, in the message
    std::string expected;
  } cases[] = {
      {"n_embd",
       {{"\"768\"", "'768'"}, {"768.0", "768.0"}, {"-768", "-768"}, {"0", "0"}},
       "1 to 16777216"},
      {"n_layer",
       {{"null", "null"}, {"99999999999999999999", "1e+20"}, {"65537", "65537"}},
       "1 to 65536"},
      {"n_inner", {{"[]", "an array"}, {"99999999999", "99999999999"}}, "1 to 67108864"},
      {"vocab_size", {{"0", "0"}, {"2147483648", "2147483648"}}, "1 to 2147483647"},
      {"scale_attn_weights", {{"1", "1"}, {"null", "null"}}, "true or false"},
      {"layer_norm_epsilon",
       {{"\"1e-5\"", "'1e-5'"}, {"-1e-5", "-1e-05"}, {"1e39", "1e+39"}},
       "0 to 3.4028235e+38"},
      {"bos_token_id", {{"\"x\"", "'x'"}, {"2147483648", "2147483648"}}, "to 2147483647"},
      {"eos_token_id",
       {{"{}", "an object"}, {"[1, -2147483649]", "-2147483649"}, {"1.5", "1.5"}},
       "-2147483648 to 2147483647"},
      {"activation_function", {{"1", "1"}, {"null", "null"}}, "gelu_new, "},
      {"gpt2_cpp", {{"{}", "null"}, {"[]", "null"}}, "'int8' or 'int4'"},
  };
  for (const auto& [key, values, expected] : cases) {
    const bool is_name = key == "activation_function" || key == "gpt2_cpp";
    for (const auto& [value, found] : values) {
      CAPTURE(key, value);
      check_refused([&] { (void)parse("{\"" + key + "\": " + value + "}"); },
                    {"c: " + key, " is " + found, expected},
                    is_name ? ErrorCode::unsupported : ErrorCode::invalid_file);
    }
  }
  const std::pair<const char*, std::vector<std::string>> others[] = {
      {"[]", {"c is an array", "object"}},
      {"{\"n_embd\": }", {"c: ", "JSON", "column 12"}},
      {R"({"n_layer": 5, "num_hidden_layers": 6})", {"n_layer is 5", "num_hidden_layers", "6"}},
      {R"({"n_embd": 10, "n_head": 3})", {"n_embd 10", "n_head 3"}},
      {R"({"n_embd": 16777216, "n_positions": 16777216, "n_layer": 65536, "n_head": 1})",
       {"n_layer 65536", "memory"}}};
  for (const auto& [json, facts] : others) {
    check_refused([&] { (void)parse(json); }, {facts.front(), facts.back()});
  }
}

TEST_CASE("Config::load reads a file, and its error messages name the file") {
  const gpt2::test::TemporaryDirectory directory;
  CHECK(Config::load(directory.write("config.json", R"({"n_layer": 3})")).n_layer == 3);
  const fs::path bad = directory.write("bad.json", R"({"n_layer": 0})");
  const auto load = [&] { (void)Config::load(bad); };
  check_refused(load, {bad.string() + ": n_layer is 0"});
  fs::resize_file(bad, (std::uintmax_t{16} << 20) + 1);  // sparse: it takes no disk space
  check_refused(load, {bad.string(), "16777217", "16777216"});
  fs::remove(bad);
  check_refused(load, {bad.string()}, ErrorCode::not_found);
}

TEST_CASE("the special tokens in generation_config.json override those in config.json") {
  const gpt2::test::TemporaryDirectory directory;
  const fs::path file = directory.write("config.json", R"({"vocab_size": 9, "eos_token_id": 3})");
  const auto with = [&](const char* json) {
    directory.write("generation_config.json", json);
    return Config::load(file);
  };
  CHECK(Config::load(file).eos_token_id == Ids{3});
  CHECK(with("{}").eos_token_id.empty());  // transformers 5 does not read the config.json's
  CHECK(with(R"({"eos_token_id": 4, "bos_token_id": 5})").eos_token_id == Ids{4});
  CHECK(with(R"({"eos_token_id": [4, 5, 99]})").eos_token_id == Ids{4, 5});
  CHECK(with(R"({"eos_token_id": null, "bos_token_id": 5})").eos_token_id.empty());
  CHECK(Config::load(file).bos_token_id == 5);
  const std::string where = (directory.path() / "generation_config.json").string();
  check_refused([&] { (void)with("[]"); }, {where, "an array"});
  check_refused([&] { (void)with(R"({"eos_token_id": "x"})"); }, {where, "eos_token_id is 'x'"});
}

}  // namespace gpt2::test::config_test
