// Compares weights that are quantized as they arrive with those that are converted while they are
// loaded, which quantize_test compares with their definition.
#include "model/loading/weight_stream.h"

#include "base/mapped_file.h"
#include "gpt2/model.h"
#include "support/bytes.h"
#include "support/test.h"

namespace gpt2::test::weight_stream_test {

namespace {

namespace fs = std::filesystem;

const fs::path kOracle = fs::path(GPT2_TEST_DATA) / "oracle";

Bytes streamed(WeightStream& stream, Bytes file, std::size_t size) {
  while (!file.empty()) {
    const Bytes part = file.first(std::min(size, file.size()));
    stream.add(part);
    file = file.subspan(part.size());
  }
  return stream.finish();
}

void check_equal(const Model& a, const Model& b) {
  const std::vector<NamedWeight> ours = weights_of(a), theirs = weights_of(b);
  // A head that differs from wte by one bit is equal to it once both are quantized.
  REQUIRE((ours.size() == theirs.size() || theirs[ours.size()].name == "lm_head.weight"));
  for (std::size_t i = 0; i < ours.size(); ++i) {
    INFO(ours[i].name);
    CHECK(ours[i].name == theirs[i].name);
    CHECK(ours[i].type == theirs[i].type);
    CHECK(ours[i].shape == theirs[i].shape);
    CHECK(std::ranges::equal(ours[i].bytes, theirs[i].bytes));
  }
}

}  // namespace

TEST_CASE("weights that are quantized as they arrive have the bytes of converted ones") {
  std::size_t compared = 0;
  for (const char* group : {"cases", "loading"}) {
    for (const auto& folder : fs::directory_iterator(kOracle / group)) {
      const fs::path file = folder.path() / "model.safetensors";
      if (!fs::exists(file)) continue;
      INFO(file.string());
      for (const WeightType type : {WeightType::int8, WeightType::int4}) {
        CAPTURE(name_of(type));
        std::vector<Model> expected;
        try {
          expected.push_back(Model::load(folder.path(), {.dtype = type}));
        } catch (const Error&) {
          continue;  // that there are such models is checked below
        }
        const MappedFile weights(file), config(folder.path() / "config.json");
        for (const std::size_t size :
             {std::size_t{97}, std::size_t{4096}, weights.bytes().size()}) {
          WeightStream stream(type);
          const Bytes result = streamed(stream, weights.bytes(), size);
          std::string text(text_of(config.bytes()));
          if (stream.is_quantized()) text = quantized_config(text, type);
          const MemoryFile files[] = {
              {.name = "config.json", .bytes = std::as_bytes(std::span(text))},
              {.name = "model.safetensors", .bytes = result}};
          check_equal(Model::load(files, {.dtype = type}), expected.front());
          compared += stream.is_quantized() ? 1 : 0;
        }
      }
    }
  }
  CHECK(compared >= 60);
}

TEST_CASE("a stream of weights that ends early or is no safetensors file is refused") {
  const MappedFile weights(kOracle / "cases/tiny_default/model.safetensors");
  const Bytes whole = weights.bytes();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{500}, whole.size() - 1}) {
    CAPTURE(size);
    WeightStream stream(WeightType::int8);
    check_refused([&] { static_cast<void>(streamed(stream, whole.first(size), 400)); },
                  {"safetensors"});
  }
  std::vector<std::byte> longer(whole.begin(), whole.end());
  longer.push_back({});
  WeightStream stream(WeightType::int8);
  check_refused([&] { static_cast<void>(streamed(stream, longer, 1000)); }, {"bytes follow"});
  for (const auto& one : fs::directory_iterator(kOracle / "safetensors_verdicts")) {
    if (one.path().extension() != ".safetensors") continue;
    INFO(one.path().string());
    const MappedFile file(one.path());
    WeightStream verdict(WeightType::int8);
    try {
      static_cast<void>(streamed(verdict, file.bytes(), 64));
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_file);
    }
  }
  // Once padded, this matrix would have 16 times as many numbers.
  WeightStream wide(WeightType::int8);
  const std::string header =
      R"({"wte.weight":{"dtype":"F32","shape":[1,16777217],"data_offsets":[0,67108868]}})";
  wide.add(as_bytes(little_endian<std::uint64_t>(header.size()) + header));
  CHECK_FALSE(wide.is_quantized());
}

}  // namespace gpt2::test::weight_stream_test
