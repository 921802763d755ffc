// Model::load: what it says about a model, and the files that nanoGPT writes.
#include "gpt2/model.h"

#include <filesystem>
#include <string>

#include "support/catch.h"

using namespace gpt2;

namespace fs = std::filesystem;

namespace {

using Dtypes = std::map<std::string, std::map<std::string, std::size_t>>;
using Names = std::vector<std::string>;

const fs::path kCases = fs::path(GPT2_TEST_DATA) / "oracle/cases";

}  // namespace

TEST_CASE("a model tells its files, their format and the types of its tensors") {
  const fs::path directory = kCases / "mixed_dtypes";
  const Model model = Model::load(directory);
  const ModelDescription& description = model.description();
  CHECK(description.files == std::vector<fs::path>{directory / "config.json",
                                                   directory / "generation_config.json",
                                                   directory / "model.safetensors"});
  CHECK(description.format == "safetensors");
  CHECK(description.tensors == 28);
  CHECK(description.ignored.empty());
  CHECK(description.dtypes == Dtypes{{"attention", {{"BF16", 4}, {"F16", 2}, {"F32", 2}}},
                                     {"embeddings", {{"BF16", 1}, {"F16", 1}}},
                                     {"mlp", {{"BF16", 4}, {"F16", 2}, {"F32", 2}}},
                                     {"norms", {{"F16", 5}, {"F32", 5}}}});
  // Two bytes for each of wte (211, 32), wpe (64, 32) and, in two layers, 12 * 32 * 32.
  CHECK(description.mapped_bytes == 2 * (211 * 32 + 64 * 32 + 2 * 12 * 32 * 32));
  CHECK(description.converted_bytes == 0);
}

TEST_CASE("a model tells which matrices were converted") {
  const Model model = Model::load(kCases / "mixed_dtypes", {.dtype = WeightType::f16});
  // In each layer c_attn and c_fc are BF16; what is F16 stays where it is, and so does wpe.
  CHECK(model.description().converted_bytes == 2 * 2 * (3 + 4) * 32 * 32);
  CHECK(model.description().mapped_bytes == 2 * (211 * 32 + 64 * 32 + 2 * (1 + 4) * 32 * 32));
}

TEST_CASE("a model tells which tensors it passed over, and why") {
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
