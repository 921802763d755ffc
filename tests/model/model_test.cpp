// Tests Model::load: the description of a model, and the files that nanoGPT writes.
#include "gpt2/model.h"

#include <stdexcept>

#include "formats/checkpoint.h"
#include "formats/safetensors.h"
#include "gpt2/session.h"
#include "model/loading/loading.h"
#include "support/golden.h"
#include "support/passes.h"
#include "support/resident_file_bytes.h"
#include "support/test.h"
#include "support/torch_file.h"

namespace gpt2::test::model_test {

namespace fs = std::filesystem;

namespace {

using Dtypes = std::map<std::string, std::map<std::string, std::size_t>>;
using Names = std::vector<std::string>;

const fs::path kCases = fs::path(GPT2_TEST_DATA) / "oracle/cases";
const fs::path kBundled = fs::path(GPT2_MODELS_DIR) / "gpt2-stories";

Model load(const test::NanoGpt& nano, const LoadOptions& options = {}) {
  const test::TemporaryDirectory directory;
  directory.write("ckpt.pt", test::nanogpt_file(kCases / "act_gelu", nano));
  return Model::load(directory.path(), options);
}

std::vector<float> logits_of(const Model& model, const std::vector<TokenId>& ids) {
  Session session(model);
  return all_logits(session, ids);
}

const std::vector<TokenId> kIds = {1, 207, 33, 0, 99, 4, 4, 150};

}  // namespace

TEST_CASE("the description has the files, their format and the types of the tensors") {
  const fs::path directory = kCases / "mixed_dtypes";
  const Model model = Model::load(directory);
  const ModelDescription& description = model.description();
  CHECK(description.files == std::vector<fs::path>{directory / "config.json",
                                                   directory / "generation_config.json",
                                                   directory / "model.safetensors"});
  for (const char* name : {"model.safetensors", "config.json", "golden.json"}) {
    CHECK(Model::load(directory / name).description().files == description.files);
  }
  CHECK(description.format == "safetensors");
  CHECK(description.tensors == 28);
  CHECK(description.ignored.empty());
  CHECK(description.dtypes == Dtypes{{"attention", {{"BF16", 4}, {"F16", 2}, {"F32", 2}}},
                                     {"embeddings", {{"BF16", 1}, {"F16", 1}}},
                                     {"mlp", {{"BF16", 4}, {"F16", 2}, {"F32", 2}}},
                                     {"norms", {{"F16", 5}, {"F32", 5}}}});
  // There are two bytes for each weight of wte (211, 32), of wpe (64, 32) and of the 12 * 32 * 32
  // weights in each of two layers.
  CHECK(description.mapped_bytes == 2 * (211 * 32 + 64 * 32 + 2 * 12 * 32 * 32));
  CHECK(description.converted_bytes == 0);
}

TEST_CASE("a model that is not mapped does not notice what happens to its files") {
  const test::TemporaryDirectory directory;
  fs::copy(kBundled, directory.path(), fs::copy_options::recursive);
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const Model model = Model::load(directory.path(), {.dtype = type, .use_mmap = false});
    const fs::path weights = directory.path() / "model.safetensors";
    fs::resize_file(weights, 0);
    CHECK(logits_of(model, kIds) == logits_of(Model::load(kBundled, {.dtype = type}), kIds));
    fs::copy(kBundled / "model.safetensors", weights, fs::copy_options::overwrite_existing);
  }
}

TEST_CASE("the description says what was converted: each matrix of another type") {
  const fs::path directory = kCases / "mixed_dtypes";  // its lm_head is F16, its c_attn BF16
  const Model stored = Model::load(directory);
  CHECK(stored.weight_type() == WeightType::f16);
  const Model converted = stored.to(WeightType::f16);
  // In each layer, c_attn and c_fc are BF16 and are converted. F16 matrices stay in the file.
  CHECK(converted.description().converted_bytes == 2 * 2 * (3 + 4) * 32 * 32);
  CHECK(stored.to(WeightType::stored).transformer() == stored.transformer());
  const auto none = static_cast<WeightType>(99);
  check_bad_argument([&] { (void)stored.to(none); }, {"weight type 99"});
  check_bad_argument([&] { (void)Model::load(directory, {.dtype = none}); }, {"weight type 99"});
}

TEST_CASE("refused: a weight that is too large for the type that was asked for, by its name") {
  const fs::path folder = kCases / "tiny_default";
  std::string bytes = read_bytes(folder / "model.safetensors");
  const auto tensors = parse_safetensors(std::as_bytes(std::span(bytes)), "f");
  const std::string name = "h.1.mlp.c_fc.weight";
  const auto found = std::ranges::find_if(
      tensors, [&](const auto& tensor) { return tensor.first.ends_with(name); });
  REQUIRE((found != tensors.end() && found->second.dtype == DType::f32));
  const float large = -1e5f;
  std::memcpy(bytes.data() + (reinterpret_cast<const char*>(found->second.data) - bytes.data()),
              &large, sizeof large);
  const TemporaryDirectory directory;
  directory.write("config.json", read_bytes(folder / "config.json"));
  directory.write("model.safetensors", bytes);
  for (const WeightType type : {WeightType::f32, WeightType::bf16, WeightType::int8}) {
    CHECK_NOTHROW(Model::load(directory.path(), {.dtype = type}));
  }
  check_refused([&] { (void)Model::load(directory.path(), {.dtype = WeightType::f16}); },
                {name, "f16", "65504", "bf16"}, ErrorCode::invalid_argument);
}

TEST_CASE("loading tells how much is converted, and ends if that throws") {
  std::vector<double> shares;
  const auto progress = [&](double share) { shares.push_back(share); };
  const auto load_as = [&](WeightType dtype) {
    shares.clear();
    return Model::load(kCases / "mixed_dtypes", {.dtype = dtype, .progress = progress});
  };
  static_cast<void>(load_as(WeightType::stored));
  CHECK(shares == std::vector<double>{1.0});
  // c_attn and c_fc of two layers, all of two bytes for each weight.
  static_cast<void>(load_as(WeightType::f16));
  CHECK(shares == std::vector<double>{3.0 / 14, 7.0 / 14, 10.0 / 14, 1.0});
  static_cast<void>(load_as(WeightType::int8));
  CHECK(shares.size() == 9);  // wte, and four matrices in each layer
  CHECK(std::ranges::is_sorted(shares));
  CHECK(shares.back() == 1.0);

  const auto cancel = [](double share) {
    if (share > 0.5) throw std::runtime_error("enough");
  };
  CHECK_THROWS_WITH(Model::load(kBundled, {.dtype = WeightType::int4, .progress = cancel}),
                    "enough");
}

TEST_CASE("the file's pages are given back as its weights are converted") {
  const fs::path path = fs::path(GPT2_MODELS_DIR) / "gpt2-stories";
  const std::size_t file_bytes = fs::file_size(path / "model.safetensors");
  for (const WeightType type : {WeightType::f32, WeightType::int8, WeightType::int4}) {
    const std::size_t before = test::resident_file_bytes();
    const Model model = Model::load(path, {.dtype = type});
    CHECK(test::resident_file_bytes() < before + file_bytes / 2);
  }
}

TEST_CASE("the description says which tensors were ignored, and why") {
  const auto ignored = [](const char* name) {
    return Model::load(kCases / name).description().ignored;
  };
  CHECK(ignored("tiny_default").empty());
  CHECK(ignored("legacy_buffers_u8") ==
        std::map<std::string, Names>{
            {"a causal mask, as old versions stored it",
             {"transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias",
              "transformer.h.1.attn.bias", "transformer.h.1.attn.masked_bias"}}});
  CHECK(
      ignored("st_tied_lm_head_stored") ==
      std::map<std::string, Names>{{"tied: wte.weight is used in its place", {"lm_head.weight"}}});
  CHECK(ignored("untied").empty());
}

TEST_CASE("nanoGPT's ckpt.pt gives the logits that HuggingFace gives for the same weights") {
  const test::Golden golden(kCases / "act_gelu" / "golden.json");
  const Model model = load({});
  const Model padded = load({.prefix = "", .vocab_size = 256});
  CHECK(padded.config().vocab_size == 256);
  for (const auto& prompt : golden.json.at("prompts")) {
    const std::vector<TokenId> ids = test::ids_of(prompt.at("input_ids"));
    const std::vector<double> expected = golden.tensor(prompt.at("logits"));
    const std::vector<float> logits = logits_of(model, ids);
    const std::vector<float> more = logits_of(padded, ids);
    REQUIRE(logits.size() == expected.size());
    const double tolerance = 2e-5 * test::range_of(expected);  // as oracle_test.cpp derives it
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(std::abs(static_cast<double>(logits[i]) - expected[i]) <= tolerance);
      REQUIRE(more[i / 211 * 256 + i % 211] == logits[i]);
    }
  }
  // nanoGPT stores its matrices transposed. Their products add up other lanes, so the sums round
  // differently. Once quantized, both models have the same bits.
  const LoadOptions int8{.dtype = WeightType::int8};
  CHECK(logits_of(load({}, int8), kIds) == logits_of(Model::load(kCases / "act_gelu", int8), kIds));
}

TEST_CASE("nanoGPT's ckpt.pt without biases equals one with zero biases") {
  CHECK(logits_of(load({.bias = false}), kIds) == logits_of(load({.zero_bias = true}), kIds));
}

TEST_CASE("nanoGPT's ckpt.pt has its own config, and the ignored entries are listed") {
  const Model model = load({});
  CHECK(model.config().n_layer == 2);
  CHECK(model.config().n_positions == 64);
  CHECK(model.config().activation_function == ActivationFunction::gelu);
  CHECK(model.config().eos_token_id.empty());  // there are 211 ids, so 50256 is not one
  CHECK_FALSE(model.config().bos_token_id);
  const Model larger = load({.vocab_size = 50257});
  CHECK(larger.config().eos_token_id == std::vector<TokenId>{50256});
  CHECK(larger.config().bos_token_id == 50256);
  const ModelDescription& description = model.description();
  CHECK(description.format == "nanoGPT, PyTorch zip");
  CHECK(description.files.size() == 1);
  CHECK(description.ignored ==
        std::map<std::string, Names>{
            {"no tensor of the model", {"optimizer", "iter_num", "best_val_loss", "config"}},
            {"tied: wte.weight is used in its place", {"_orig_mod.lm_head.weight"}}});
}

TEST_CASE("quantized weights are never converted, whatever files lie beside them") {
  for (const WeightType quantized : {WeightType::int8, WeightType::int4}) {
    const test::TemporaryDirectory place;
    const fs::path out = place.path() / "quantized";
    const Model model = Model::load(kCases / "tiny_default", {.dtype = quantized});
    save_quantized(model, kCases / "tiny_default", out, [](double) {});
    for (const bool has_nanogpt_file : {false, true}) {
      if (has_nanogpt_file) place.write("quantized/ckpt.pt", "");
      CHECK(logits_of(Model::load(out), kIds) == logits_of(model, kIds));
      CHECK(logits_of(Model::load(out, {.dtype = quantized}), kIds) == logits_of(model, kIds));
      for (const WeightType other : {WeightType::f32, WeightType::f16, WeightType::bf16,
                                     WeightType::int8, WeightType::int4}) {
        if (other == quantized) continue;
        check_refused([&] { (void)Model::load(out, {.dtype = other}); },
                      {(out / "model.safetensors").string(), name_of(quantized)},
                      ErrorCode::invalid_argument);
      }
    }
  }
}

TEST_CASE("a quantized copy is not written if a file of its source cannot be read", "[posix]") {
  const test::TemporaryDirectory place;
  const Model model = Model::load(kCases / "tiny_default", {.dtype = WeightType::int8});
  fs::create_symlink("gone", place.path() / "tokenizer.json");
  const fs::path out = place.path() / "quantized";
  check_refused([&] { save_quantized(model, place.path(), out, [](double) {}); },
                {(place.path() / "tokenizer.json").string(), "'gone'"}, ErrorCode::not_found);
  CHECK(std::distance(fs::directory_iterator(place.path()), {}) == 1);
}

TEST_CASE("refused: a ckpt.pt whose model_args lack a size") {
  for (const std::string key : {"n_layer", "n_head", "n_embd", "block_size", "vocab_size"}) {
    check_refused([&] { (void)load({.without = key}); }, {"ckpt.pt", "model_args", key});
  }
  CHECK_NOTHROW(load({.without = "bias"}));  // the tensors show whether there are biases
}

TEST_CASE("refused: tensors that are missing, extra or duplicate, or have a wrong shape or type") {
  const Checkpoint checkpoint = Checkpoint::open(find_model_files(kCases / "act_gelu"));
  const Config config = Config::load(kCases / "act_gelu" / "config.json");
  const auto bind = [&](const auto& change) {
    const auto changed = std::make_shared<Checkpoint>();
    changed->files = {"f"};
    changed->tensors = checkpoint.tensors;
    change(changed->tensors);
    return [=] { (void)bind_weights(config, changed, {}); };
  };
  const std::string ln_f = "transformer.ln_f.bias";
  const TensorView view = checkpoint.tensors.at(ln_f);
  CHECK_NOTHROW(bind([&](TensorTable&) {})());
  check_refused(bind([&](TensorTable& t) { t.erase(ln_f); }), {"f: ln_f.bias [32]", "missing"});
  check_refused(bind([&](TensorTable& t) { t["transformer.h.0.q_attn.weight\n"] = view; }),
                {"f: 'transformer.h.0.q_attn.weight\\x0a'"});
  check_refused(bind([&](TensorTable& t) { t["transformer.ln_f.beta"] = view; }),
                {"'transformer.ln_f.beta'", "'transformer.ln_f.bias'", "'ln_f.bias'"});
  check_refused(bind([&](TensorTable& t) { t["x.lm_head.weight"] = view; }),
                {"'x.lm_head.weight'"});
  check_refused(bind([&](TensorTable& t) { t[ln_f].shape = Shape{31}; }), {ln_f, "[31]", "[32]"});
  check_refused(bind([&](TensorTable& t) { t[ln_f].dtype = DType::i32; }),
                {ln_f, "I32", "float32"});
  check_refused(bind([&](TensorTable& t) { t.clear(); }), {"f: ", "no tensors"});
  check_refused(bind([&](TensorTable& t) {
                  t.clear();
                  t["encoder.layer.0.weight"] = t["z"] = view;
                }),
                {"the first of 2", "'encoder.layer.0.weight'"});
  check_refused(bind([&](TensorTable& t) {  // of the 27 others, 8 are listed
                  t.clear();
                  t[ln_f] = view;
                }),
                {"f: wte.weight [211, 32]", "wpe.weight [64, 32]", "19 more", "config.json"});
}

}  // namespace gpt2::test::model_test
