// Runs gpt2 info as a process.
#include <tuple>

#include "support/alphabet_model.h"
#include "support/command.h"
#include "support/test.h"

namespace gpt2::test::info_test {

namespace fs = std::filesystem;

namespace {

const fs::path kCases = fs::path(GPT2_TEST_DATA) / "oracle/cases";

// The path of a file of alphabet_model().
std::string file(const std::string& name) { return (fs::path(alphabet_model()) / name).string(); }

nlohmann::json json_of(const Words& arguments, const Words& environment = {}) {
  const Outcome outcome =
      run(joined_words({"info", "--json", "--quiet"}, arguments), {.environment = environment});
  CHECK(outcome.status == 0);
  if (environment.empty()) CHECK(outcome.err == "");
  return nlohmann::json::parse(outcome.out);
}

}  // namespace

TEST_CASE("info shows what a model is made of") {
  const std::string out = output_of({"info", "-m", alphabet_model()});
  for (const std::string& row : Words{
           "model        " + alphabet_model() + "\n", "files        " + file("config.json") + ", ",
           "format       safetensors\n", "config       n_layer 1, n_head 1, n_embd 64, ",
           "eos_token_id (256), bos_token_id 256\n",
           // Of wte and lm_head, wpe, the LayerNorms, c_attn and the three other linear layers:
           // 2 * 257 * 64 + 1024 * 64 + 3 * 2 * 64 + 65 * 192 + 3 * 65 * 64.
           "parameters   123776\n", "\nkv type      f32\n",
           "\nmemory       mapped weights 0.49 MB, converted weights 0.00 MB, keys and values ",
           "\ntokenizer    byte-level BPE, 257 tokens (vocab.json, merges.txt)\n",
           "\nusable isas  ", "\nwalks        measured\n", "\nthread cpus  "}) {
    CAPTURE(row, out);
    CHECK(contains(out, row));
  }
  CHECK(!contains(out, "warning"));
}

TEST_CASE("info --json gives programs the same facts") {
  const nlohmann::json json = json_of({"-m", alphabet_model()});
  CHECK(json["model"] == alphabet_model());
  CHECK(json["files"] == nlohmann::json{file("config.json"), file("model.safetensors"),
                                        file("vocab.json"), file("merges.txt")});
  CHECK(json["config"]["n_positions"] == 1024);
  CHECK(json["config"]["layer_norm_epsilon"] == 1e-5);
  CHECK(json["parameters"] == 123776);
  CHECK(json["ignored"].empty());
  CHECK(json["dtypes"]["norms"] == nlohmann::json{{"F32", 6}});
  CHECK(json["memory"]["mapped_weights_bytes"] == 4 * 64 * (2 * 257 + 1024 + 6 * 64));
  CHECK(json["kv_type"] == "f32");
  CHECK(json["memory"]["keys_and_values_bytes"] == 2 * 1024 * 64 * 4);
  const nlohmann::json int8 = json_of({"-m", alphabet_model(), "--dtype", "int8"});
  CHECK(int8["kv_type"] == "f16");
  CHECK(int8["memory"]["keys_and_values_bytes"] == 2 * 1024 * 64 * 2);
  // The threads share activations of 512 rows, 6 * 64 + 64 floats each; quantized values of 516
  // rows, 64 bytes each, in 2 blocks of 32 that have a scale and an offset of 4 bytes each; and
  // chunk sums of 8 rows of 192 floats. Each thread has 1 MiB of scratch memory, scores of 1024
  // keys and one panel of 32, 16 sums, 4 chunk sums of 64 floats, and a tile of 512 rows of 128
  // floats.
  const std::size_t threads = json["threads"];
  CHECK(json["memory"]["workspace_bytes"] ==
        4 * 512 * 7 * 64 + 516 * (64 + 2 * 2 * 4) + 4 * 8 * 192 +
            threads * ((1 << 20) + 4 * (1024 + 32 + 16 + 4 * 64 + 512 * 128)));
  CHECK(json["walks"] == "measured");
  CHECK(json["tokenizer"]["size"] == 257);
  CHECK(json["warnings"].empty());
  CHECK(json["threads_from"] == "cores");
}

TEST_CASE("OpenMP's variables say how many threads there are") {
  const auto with = [](const Words& environment) {
    return json_of({"-m", alphabet_model()}, environment);
  };
  const auto cores = with({})["threads"];
  for (const auto& [environment, threads, source] :
       std::vector<std::tuple<Words, nlohmann::json, std::string>>{
           {{"OMP_NUM_THREADS= 2 , 5"}, 2, "OMP_NUM_THREADS"},
           {{"OMP_NUM_THREADS=many"}, cores, "cores"},
           {{"OMP_NUM_THREADS=0"}, cores, "cores"},
           {{"OMP_NUM_THREADS=3", "OMP_THREAD_LIMIT=2"}, 2, "OMP_THREAD_LIMIT"},
           {{"OMP_NUM_THREADS=3", "OMP_THREAD_LIMIT=7"}, 3, "OMP_NUM_THREADS"}}) {
    CAPTURE(environment);
    const nlohmann::json json = with(environment);
    CHECK(json["threads"] == threads);
    CHECK(json["threads_from"] == source);
    CHECK(json["thread_cpus"].size() == threads);
  }
}

// GCC's OpenMP binds no threads on Windows.
TEST_CASE("OpenMP's places say where the threads run", "[posix]") {
  const auto with = [](const Words& environment) {
    return json_of({"-m", alphabet_model()}, environment);
  };
  const auto cores = with({})["threads"];
  // Bound to places, each thread has a CPU of its own, and the number of cores is the same.
  const nlohmann::json everywhere = with({})["thread_cpus"];
  const nlohmann::json bound = with({"OMP_PLACES=threads", "OMP_PROC_BIND=spread"});
  CHECK(bound["threads"] == cores);
  const std::vector<std::string> cpus = bound["thread_cpus"];
  CHECK(std::set(cpus.begin(), cpus.end()).size() == cpus.size());
  for (const std::string& cpu : cpus) CHECK(cpu.find_first_not_of("0123456789") == cpu.npos);
  CHECK(everywhere[0] == everywhere.back());
  // All of them in one place: they take turns.
  CHECK(with({"OMP_PLACES={" + cpus[0] + "}", "OMP_NUM_THREADS=2"})["thread_cpus"] ==
        std::vector<std::string>{cpus[0], cpus[0]});
}

TEST_CASE("info names the tensors that were ignored, and why") {
  const std::string model = (kCases / "legacy_hub_gpt2").string();
  CHECK(json_of({"-m", model})["ignored"] ==
        nlohmann::json{
            {"a causal mask, as old versions stored it", {"h.0.attn.bias", "h.1.attn.bias"}}});
  CHECK(contains(run({"info", "-m", model}).out,
                 "ignored      a causal mask, as old versions stored it "
                 "(h.0.attn.bias, h.1.attn.bias)\n"));
}

TEST_CASE("info warns if the tokenizer is missing or differs in size from the embeddings") {
  const AlphabetModel model;
  const fs::path path = model.path();
  const auto check_warning = [&](const Words& facts) {
    const nlohmann::json json = json_of({"-m", model.name()});
    REQUIRE(json["warnings"].size() == 1);
    const std::string text = json["warnings"][0];
    CHECK(contains(run({"info", "-m", model.name()}).out, "warning      " + text + "\n"));
    for (const std::string& fact : facts) CHECK(contains(text, fact));
  };
  model.write("added_tokens.json", R"({"<more>": 257})");
  check_warning({"258 ids", "the model has 257"});
  fs::remove(path / "added_tokens.json");
  model.remove_token("<|endoftext|>");
  check_warning({"256 ids", "the model has 257"});
  fs::remove(path / "vocab.json");
  check_warning({model.name(), "no tokenizer", "vocab.json", "--tokens"});
  CHECK(json_of({"-m", model.name()})["tokenizer"].is_null());
  const Words words = {"-m", model.name(), "--tokenizer", alphabet_model()};
  CHECK(json_of(words)["tokenizer"]["size"] == 257);
}

// On Windows, no name can have such characters.
TEST_CASE("info --json writes no control characters, not even two-byte ones", "[posix]") {
  const TemporaryDirectory directory;
  const std::string model = (directory.path() /
                             "a\xc2\x9b"
                             "31m\x1b")
                                .string();  // U+009B is CSI
  fs::copy(alphabet_model(), model);
  CHECK(json_of({"-m", model})["model"] == model);
  const std::string text = run({"info", "--json", "-m", model}).out;
  CHECK(!contains(text, "\xc2\x9b"));
  CHECK(!contains(text, "\x1b"));
}

TEST_CASE("info shows which instruction set is forced") {
  const Outcome outcome =
      run({"info", "-m", alphabet_model()}, {.environment = {"GPT2_ISA=scalar"}});
  CHECK(contains(outcome.out, "isa          scalar"));
  check_refused({"-m", alphabet_model(), "x"}, 1, {"mmx"}, {.environment = {"GPT2_ISA=mmx"}});
}

TEST_CASE("GPT2_TUNE is on or off, which changes no text") {
  const auto hash = [](const std::string& variable) {
    const Words words = {"--greedy", "--json", "--stats", "-n", "40", "Once upon a time"};
    const Outcome outcome = run(words, {.environment = {variable}});
    return nlohmann::json::parse(outcome.out)["stats"]["logits_hash"];
  };
  CHECK(hash("GPT2_TUNE=off") == hash("GPT2_TUNE=on"));
  const Words info = {"info", "-m", alphabet_model()};
  for (const Words& command : {Words{"x"}, info}) {
    check_refused(command, 1, {"GPT2_TUNE", "on or off", "'fast'"},
                  {.environment = {"GPT2_TUNE=fast"}});
  }
  CHECK(contains(run(info, {.environment = {"GPT2_TUNE=off"}}).out, "\nwalks        fixed\n"));
}

TEST_CASE("info shows an adapter that is merged into its base") {
  const fs::path adapters = kCases.parent_path() / "adapters";
  const std::string adapter = (adapters / "dora").string();
  const nlohmann::json json = json_of({"-m", adapter, "--base", (adapters / "base").string()});
  CHECK(contains(json["format"], "merged with an adapter of 6 tensors"));
  CHECK(contains(json["files"].dump(), "adapter_model.safetensors"));
  CHECK(json["memory"]["converted_weights_bytes"] == 2 * 16 * 48 * 4);
  check_refused({"info", "-m", alphabet_model(), "--base", adapter}, 1, {"base"});
}

}  // namespace gpt2::test::info_test
