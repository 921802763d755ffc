// Tests what loading_test, which compares the logits, does not show of LoRA adapters of PEFT.
#include <nlohmann/json.hpp>

#include "base/file_source.h"
#include "base/mapped_file.h"
#include "formats/safetensors.h"
#include "gpt2/generation_config.h"
#include "gpt2/model_files.h"
#include "gpt2/runtime.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"
#include "model/loading/adapter_settings.h"
#include "support/bundled_model.h"
#include "support/bytes.h"
#include "support/passes.h"
#include "support/safetensors_writer.h"
#include "support/test.h"

namespace gpt2::test::adapter_test {

namespace fs = std::filesystem;

namespace {

const fs::path kAdapters = fs::path(GPT2_TEST_DATA) / "oracle/adapters";
const fs::path kToday = fs::path(GPT2_TEST_DATA) / "oracle/today/adapters";
const fs::path kBase = kAdapters / "base";
const fs::path kOne = kAdapters / "c_attn_only";

std::vector<float> logits_of(const Model& model, const std::vector<TokenId>& ids = {3, 17, 42, 5}) {
  Session session(model);
  return all_logits(session, ids);
}

bool same_weights(const Model& a, const Model& b) {
  return std::ranges::equal(weights_of(a), weights_of(b), [](const auto& x, const auto& y) {
    return x.name == y.name && x.type == y.type && std::ranges::equal(x.bytes, y.bytes);
  });
}

// Compares the tensors with those of merged.safetensors, and all others with the base's.
void check_merged(const Model& model, const fs::path& folder) {
  const fs::path file = folder / "merged.safetensors";
  const MappedFile mapped(file, FileAccess::copy);
  const TensorTable merged = parse_safetensors(mapped.bytes(), file.string());
  const Model base_model = Model::load(kBase);
  const std::vector<NamedWeight> of_base = weights_of(base_model);
  std::size_t compared = 0;
  for (const NamedWeight& weight : weights_of(model)) {
    CAPTURE(weight.name);
    const auto found = merged.find(weight.name);
    if (found == merged.end()) {
      const auto base = std::ranges::find(of_base, weight.name, &NamedWeight::name);
      CHECK((base != of_base.end() && std::ranges::equal(weight.bytes, base->bytes)));
      continue;
    }
    ++compared;
    REQUIRE(std::ranges::equal(weight.shape, found->second.shape.sizes()));
    std::vector<float> actual(found->second.shape.element_count());
    std::vector<float> expected(actual.size());
    std::memcpy(expected.data(), found->second.data, 4 * expected.size());
    if (weight.type == WeightType::f32) {
      REQUIRE(weight.bytes.size() == 4 * actual.size());
      std::memcpy(actual.data(), weight.bytes.data(), weight.bytes.size());
    } else {  // the head that adapters of wte leave as it is in the base
      CHECK(weight.name == "lm_head.weight");
      CHECK(std::ranges::equal(weight.bytes, of_base.front().bytes));
      continue;
    }
    const bool is_close = std::ranges::equal(actual, expected, [](float a, float b) {
      return std::abs(a - b) <= std::max(1e-6f, std::abs(b) * 1.2e-7f);
    });
    CHECK(is_close);
  }
  CHECK(compared == merged.size());
}

// A directory with an adapter, of which `changes` replace members of the config.
TemporaryDirectory& changed(TemporaryDirectory& directory, const nlohmann::json& changes,
                            const fs::path& from = kOne) {
  auto config = nlohmann::json::parse(read_bytes(from / "adapter_config.json"));
  config["base_model_name_or_path"] = fs::absolute(kBase).string();
  config.update(changes);
  directory.write("adapter_config.json", config.dump());
  directory.write("adapter_model.safetensors", read_bytes(from / "adapter_model.safetensors"));
  return directory;
}

}  // namespace

TEST_CASE("every adapter gives PEFT's matrices, and leaves the others as they are") {
  std::size_t checked = 0;
  for (const fs::path& folder : fs::directory_iterator(kAdapters)) {
    if (!fs::exists(folder / "merged.safetensors")) continue;
    CAPTURE(folder);
    const Model model = Model::load(folder);
    check_merged(model, folder);
    CHECK(model.description().base == folder / "../base");
    ++checked;
  }
  CHECK(checked == 25);
}

TEST_CASE("patterns of modules match as in PEFT") {
  struct Case {
    const char* pattern;
    const char* name;
    bool matches;
  };
  for (const auto& [pattern, name, matches] : std::initializer_list<Case>{
           {"c_attn", "transformer.h.0.attn.c_attn", true},
           {"attn", "transformer.h.0.attn.c_attn", false},
           {"h.1.mlp.c_proj", "transformer.h.1.mlp.c_proj", true},
           {"1.mlp.c_proj", "transformer.h.11.mlp.c_proj", false},
           {"^h.1.mlp.c_proj", "transformer.h.1.mlp.c_proj", false},
           {"^transformer\\.h\\.1\\.mlp\\.c_proj", "transformer.h.1.mlp.c_proj", true},
           {"h\\.\\d+\\.attn\\.c_proj", "transformer.h.23.attn.c_proj", true},
           {"h\\.\\d\\.attn\\.c_proj", "transformer.h.23.attn.c_proj", false},
           {"h.1.*c_fc|lm_head", "transformer.h.1.mlp.c_fc", true},
           {"h.1.*c_fc|lm_head", "lm_head", true},
           {"^h.1.*c_fc|lm_.*", "lm_head", true},
           {"^h.1.*c_fc|^head", "lm_head", false},
           {"a*.*c+_fc", "transformer.h.3.mlp.cc_fc", true},
           {"c+c_fc", "transformer.h.3.mlp.c_fc", false},
           {"h\\.[0-1]\\.attn\\.c_attn", "transformer.h.1.attn.c_attn", true},
           {"h\\.[0-1]\\.attn\\.c_attn", "transformer.h.2.attn.c_attn", false},
           {"h\\.[^0-1]\\.attn\\.c_attn", "transformer.h.2.attn.c_attn", true},
           {"h.[\\d]+.attn.c_[a-z]+", "transformer.h.12.attn.c_attn", true},
           {"h.(1|2(3|4)).(?:mlp|attn).c_proj", "transformer.h.24.mlp.c_proj", true},
           {"h.(1|2(3|4)).(?:mlp|attn).c_proj", "transformer.h.2.mlp.c_proj", false},
           {"h.1?2.(attn.)?c_attn$", "transformer.h.2.attn.c_attn", true},
           {"h.1?2.(attn.)?c_attn$", "transformer.h.3.attn.c_attn", false},
           {".*?attn.*?", "transformer.h.2.attn.c_proj", true},
           {"", "transformer.wte", false}}) {
    CAPTURE(pattern, name);
    CHECK(matches_module(pattern, name, "") == matches);
  }
  const std::string many(2'000, 'a'), deep(200, '(');
  for (const char* pattern : {"(a", "a)", "*", "a**", "a{2}", "\\b", "a\\", "(a)*", "(a)+", "(?=a)",
                              "[", "[a", "[]", "[[:alpha:]]", many.c_str(), deep.c_str()}) {
    CAPTURE(pattern);
    check_refused([&] { (void)matches_module(pattern, "h", "f"); }, {"f: ", "pattern"},
                  ErrorCode::unsupported);
  }
}

TEST_CASE("an adapter in F64 is that in F32") {
  const fs::path file = kOne / "adapter_model.safetensors";
  const MappedFile mapped(file, FileAccess::copy);
  nlohmann::json header;
  std::string data;
  for (const auto& [name, view] : parse_safetensors(mapped.bytes(), file.string())) {
    const std::size_t begin = data.size(), count = view.shape.element_count();
    for (std::size_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, view.data + 4 * i, 4);
      data += little_endian(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    }
    const auto sizes = view.shape.sizes();
    header[name] = {{"dtype", "F64"},
                    {"shape", std::vector(sizes.begin(), sizes.end())},
                    {"data_offsets", {begin, data.size()}}};
  }
  TemporaryDirectory directory;
  changed(directory, nlohmann::json::object());
  const std::string text = header.dump();
  directory.write("adapter_model.safetensors",
                  little_endian(std::uint64_t{text.size()}) + text + data);
  CHECK(same_weights(Model::load(directory.path()), Model::load(kOne)));
}

TEST_CASE("refused: adapters that cannot be merged, and settings that change more than weights") {
  struct Case {
    nlohmann::json change;
    std::vector<std::string_view> facts;
    ErrorCode code = ErrorCode::unsupported;
  };
  TemporaryDirectory of_wte;
  changed(of_wte, {{"use_dora", true}}, kAdapters / "lora_on_wte");
  check_refused([&] { (void)Model::load(of_wte.path()); }, {"wte.lora_magnitude_vector"});
  const std::string here = kOne.string();
  for (const auto& [change, facts, code] : std::vector<Case>{
           {{{"init_lora_weights", "pissa_niter_4"}}, {"init_lora_weights", "pissa_niter_4"}},
           {{{"use_qalora", true}}, {"use_qalora"}},
           {{{"rank_pattern", {{"c_attn{2}", 4}}}}, {"rank_pattern", "c_attn{2}"}},
           {{{"rank_pattern", {{"c_attn", nullptr}}}}, {"c_attn"}, ErrorCode::invalid_file},
           {{{"rank_pattern", {{"c_attn", 4.5}}}}, {"rank", "4.5"}, ErrorCode::invalid_file},
           {{{"r", 5'000'000'000}}, {"r is 5000000000"}, ErrorCode::invalid_file},
           {{{"peft_type", nullptr}}, {"peft_type"}, ErrorCode::invalid_file},
           {{{"use_dora", true}}, {"lora_magnitude_vector"}, ErrorCode::invalid_file},
           {{{"base_model_name_or_path", nullptr}}, {"base_model"}, ErrorCode::invalid_file},
           {{{"base_model_name_or_path", "no/such"}}, {"no/such", "--base"}, ErrorCode::not_found},
           {{{"base_model_name_or_path", ""}}, {"empty"}, ErrorCode::invalid_argument},
           {{{"base_model_name_or_path", fs::absolute(kAdapters).string()}},
            {"no weights", "oracle"}},
           {{{"base_model_name_or_path", std::string(900'000, '/')}},
            {"base_model"},
            ErrorCode::invalid_file},
           {{{"base_model_name_or_path", here}}, {here, "adapter"}}}) {
    TemporaryDirectory directory;
    changed(directory, change);
    CAPTURE(change.dump());
    const auto load = [&] { (void)Model::load(directory.path()); };
    for (const std::string_view fact : facts) check_refused(load, {"adapter_", fact}, code);
    CHECK(refusal_of(load).size() < 1000);
  }
  TemporaryDirectory alone, quantized;
  alone.write("adapter_config.json", read_bytes(kOne / "adapter_config.json"));
  check_refused([&] { (void)Model::load(alone.path(), {.base = kBase.string()}); },
                {"adapter_model.safetensors", "adapter_model.bin"}, ErrorCode::not_found);
  const fs::path int8 = quantized.path() / "int8";
  save_quantized(Model::load(kBase, {.dtype = WeightType::int8}), kBase, int8);
  check_refused([&] { (void)Model::load(kOne, {.base = int8.string()}); }, {"int8", "base"},
                ErrorCode::unsupported);
}

TEST_CASE("refused: an adapter with which a weight is too large, by its name") {
  TemporaryDirectory directory;
  changed(directory, nlohmann::json::object());
  SafetensorsWriter tensors;
  const std::string module = "base_model.model.transformer.h.0.attn.c_attn.lora_";
  tensors.constant(module + "A.weight", {4, 16}, 1e20f);
  tensors.constant(module + "B.weight", {48, 4}, 1e20f);
  tensors.write(directory.path() / "adapter_model.safetensors");
  check_refused([&] { (void)Model::load(directory.path(), {.dtype = WeightType::int8}); },
                {"adapter_model.safetensors", "h.0.attn.c_attn.weight", "float32"});
}

TEST_CASE("an adapter is merged before its matrices are converted, and no other is copied") {
  const Model merged = Model::load(kOne);
  const Model base = Model::load(kBase);
  const ModelDescription& description = merged.description();
  const std::size_t changed = std::size_t{2} * 16 * 48;
  CHECK(description.converted_bytes == 4 * changed);
  CHECK(description.mapped_bytes == base.description().mapped_bytes - 2 * changed);
  CHECK(description.format.find("adapter of 4 tensors") != std::string::npos);
  CHECK(description.files.size() == base.description().files.size() + 2);
  CHECK(merged.parameter_count() == base.parameter_count());
  for (const WeightType type : {WeightType::f32, WeightType::bf16, WeightType::int8}) {
    CHECK(same_weights(Model::load(kOne, {.dtype = type}), merged.to(type)));
  }
  const Model untied = Model::load(kAdapters / "modules_to_save_wte");
  CHECK(!untied.config().tie_word_embeddings);
  CHECK(untied.parameter_count() == base.parameter_count() + 64 * 16);
}

TEST_CASE("every instruction set merges the same bits") {
  const fs::path adapter = kAdapters / "dora";
  const Model expected = Model::load(adapter);
  const std::string before(isa_name());
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    CHECK(same_weights(Model::load(adapter), expected));
  }
  force_isa(before);
}

TEST_CASE("pairs that the config leaves out do not count, and are named in one line") {
  const auto targets = [](const char* members, const char* path) {
    return AdapterSettings(R"({"peft_type": "LORA", )" + std::string(members) + "}", "c")
        .targets(path);
  };
  const char* const one = "transformer.h.1.attn.c_attn";
  for (const char* members :
       {R"("r": 4)", R"("target_modules": ["attn.c_attn"])", R"("target_modules": "all-linear")",
        R"("target_modules": ".*\\.c_(attn|fc)$")", R"("layers_to_transform": [0, 1])",
        R"("layers_to_transform": 1, "layers_pattern": "h")",
        R"("target_modules": ["transformer.h.1.attn.c_attn"], "layers_to_transform": 0)"}) {
    CAPTURE(members);
    CHECK(targets(members, one));
  }
  for (const char* members : {R"("target_modules": ["n.c_attn"])", R"("target_modules": "c_attn")",
                              R"("target_modules": [])", R"("exclude_modules": ["c_attn"])",
                              R"("exclude_modules": ".*attn")", R"("modules_to_save": ["c_attn"])",
                              R"("layers_to_transform": [0, 11])", R"("layers_to_transform": 0)",
                              R"("layers_to_transform": 1, "layers_pattern": ["layers"])"}) {
    CAPTURE(members);
    CHECK_FALSE(targets(members, one));
  }
  CHECK_FALSE(targets(R"("layers_to_transform": 1)", "h.1.attn.c_attn"));  // PEFT finds no block
  const auto warnings = [](const char* name) {
    return Model::load(kToday / name).description().warnings;
  };
  CHECK(warnings("all_linear").empty());
  const std::vector<std::string> left_out = warnings("target_modules_leaves_out");
  REQUIRE(left_out.size() == 1);
  CHECK(left_out[0].find("h.0.mlp.c_fc.lora_A.weight' and 3 more") != std::string::npos);
}

TEST_CASE("tokens that were added before the training enlarge the vocabulary") {
  const Model model = Model::load(kToday / "resized");
  const Model base = Model::load(kToday / "base");
  CHECK(model.config().vocab_size == 68);
  CHECK(model.parameter_count() == base.parameter_count() + (68 + 4) * 16);
  CHECK(Model::load(kToday / "trainable_tokens").config().tie_word_embeddings);

  // PEFT also writes the matrices that the wrapped modules had before the training.
  const fs::path file = kToday / "resized/adapter_model.safetensors";
  const MappedFile mapped(file, FileAccess::copy);
  SafetensorsWriter with_originals, only_wte;
  for (const auto& [name, view] : parse_safetensors(mapped.bytes(), file.string())) {
    const std::vector<std::size_t> shape(view.shape.sizes().begin(), view.shape.sizes().end());
    std::vector<float> values(view.shape.element_count());
    std::memcpy(values.data(), view.data, view.bytes);
    with_originals.add(name, shape, values);
    if (name.find("lm_head") == std::string::npos) only_wte.add(name, shape, values);
  }
  const std::string wte = "base_model.model.transformer.wte.";
  with_originals.constant(wte + "original_module.weight", {68, 16}, 1.0f);
  with_originals.constant(wte + "modules_to_save.weight", {68, 16}, 1.0f);
  TemporaryDirectory directory;
  changed(directory, {{"base_model_name_or_path", fs::absolute(kToday / "base").string()}},
          kToday / "resized");
  with_originals.write(directory.path() / "adapter_model.safetensors");
  CHECK(logits_of(Model::load(directory.path())) == logits_of(model));
  only_wte.write(directory.path() / "adapter_model.safetensors");
  check_refused([&] { (void)Model::load(directory.path()); }, {"68", "64", "lm_head"});
}

TEST_CASE("refused: indices of tokens that do not fit the rows or the base") {
  for (const auto& [tokens, fact] : std::initializer_list<std::pair<nlohmann::json, const char*>>{
           {{3, 5}, "[3, 16]"}, {{3, 5, 64}, "64"}, {{3, 5, -1}, "trainable_token_indices"}}) {
    TemporaryDirectory directory;
    changed(directory,
            {{"base_model_name_or_path", fs::absolute(kToday / "base").string()},
             {"trainable_token_indices", tokens}},
            kToday / "trainable_tokens");
    check_refused([&] { (void)Model::load(directory.path()); }, {"adapter_", fact});
  }
}

TEST_CASE("the base is found by the adapter's name for it, or given") {
  const std::vector<float> expected = logits_of(Model::load(kOne));
  TemporaryDirectory directory;
  changed(directory, {{"base_model_name_or_path", "no/such"}});
  const LoadOptions with_base{.base = kBase.string()};
  CHECK(logits_of(Model::load(directory.path(), with_base)) == expected);
  CHECK(logits_of(Model::load(directory.path() / "adapter_config.json", with_base)) == expected);

  const std::string config = read_bytes(kOne / "adapter_config.json");
  const std::string tensors = read_bytes(kOne / "adapter_model.safetensors");
  const MemoryFile files[] = {
      {.name = "adapter_config.json", .bytes = std::as_bytes(std::span(config))},
      {.name = "adapter_model.safetensors", .bytes = std::as_bytes(std::span(tensors))}};
  CHECK(logits_of(Model::load(files, with_base)) == expected);
  check_bad_argument([&] { (void)Model::load(kBase, with_base); }, {"base", "whole model"});
}

TEST_CASE("an adapter beside a whole model is used if it is named, and shown if it is not") {
  TemporaryDirectory directory;
  changed(directory, nlohmann::json::object());
  fs::copy_file(kBase / "model.safetensors", directory.path() / "model.safetensors");
  fs::copy_file(kBase / "config.json", directory.path() / "config.json");
  const std::vector<float> plain = logits_of(Model::load(kBase));
  const std::vector<float> adapted = logits_of(Model::load(kOne));
  const Model model = Model::load(directory.path());
  CHECK(logits_of(model) == plain);
  REQUIRE(model.description().warnings.size() == 1);
  CHECK(model.description().warnings[0].find("adapter_config.json") != std::string::npos);
  CHECK(logits_of(Model::load(directory.path(), {.base = kBase.string()})) == adapted);
  const fs::path file = directory.path() / "adapter_model.safetensors";
  CHECK(logits_of(Model::load(file, {.base = kBase.string()})) == adapted);
  CHECK(logits_of(Model::load(file)) == adapted);
}

TEST_CASE("the side files are the adapter's own, or else those of its base") {
  TemporaryDirectory base, directory;
  for (const auto& file : fs::directory_iterator(kBase)) {
    fs::copy_file(file, base.path() / file.path().filename());
  }
  base.write("generation_config.json", R"({"do_sample": true, "top_k": 7})");
  const auto write_tokenizer = [](const TemporaryDirectory& to) {
    for (const char* name : {"vocab.json", "merges.txt"}) {
      to.write(name, read_bytes(bundled::kDirectory / name));
    }
  };
  write_tokenizer(base);
  changed(directory, {{"base_model_name_or_path", base.path().string()}});
  CHECK(find_places(base.path()).config == base.path());
  CHECK(find_places(directory.path()).tokenizer == base.path());
  CHECK(Tokenizer::load(directory.path()).size() == bundled::tokenizer().size());
  CHECK(GenerationConfig::load(directory.path()).sampling.top_k == 7);

  const fs::path saved = directory.path() / "int8";
  const Model model = Model::load(directory.path(), {.dtype = WeightType::int8});
  save_quantized(model, directory.path(), saved);
  CHECK(logits_of(Model::load(saved)) == logits_of(model));
  CHECK(Tokenizer::load(saved).size() == bundled::tokenizer().size());
  CHECK(GenerationConfig::load(saved).sampling.top_k == 7);

  write_tokenizer(directory);
  CHECK(find_places(directory.path()).tokenizer == directory.path());
  CHECK(find_places(directory.path()).config == base.path());
  CHECK(find_places(directory.path(), kBase.string()).config == kBase);
}

TEST_CASE("the state of a session belongs to the adapter that was merged") {
  const TemporaryDirectory directory;
  const fs::path file = directory.path() / "state";
  TemporaryDirectory other;
  changed(other, {{"revision", "main"}});  // the same weights, from other files
  Session session(Model::load(kOne));
  session.forward(std::vector<TokenId>{1, 2, 3});
  save_session(session, file);
  const Engine same(Model::load(kOne));
  CHECK(load_session(same, file).tokens().size() == 3);
  for (const fs::path& path : {kBase, other.path()}) {
    const Engine engine(Model::load(path));
    check_refused([&] { (void)load_session(engine, file); }, {"another model"});
  }
}

}  // namespace gpt2::test::adapter_test
