// Tests which files a model's path stands for, and that the error names the true cause if the path
// stands for none.
#include "formats/model_files.h"

#include <string>

#include "gpt2/model.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::model_files_test {

namespace fs = std::filesystem;

TEST_CASE("files are found by their names, and HuggingFace's are preferred") {
  const TemporaryDirectory place;
  CHECK(find_model_files(place.path()).weights.empty());
  CHECK_FALSE(find_model_files(place.path()).has_config);
  for (const char* name : {"ckpt.pt", "pytorch_model.bin.index.json", "pytorch_model.bin",
                           "model.safetensors.index.json", "model.safetensors"}) {
    place.write(name, "");
    CHECK(find_model_files(place.path()).weights == place.path() / name);
    CHECK(find_model_files(place.path()).is_nanogpt() == (name == std::string("ckpt.pt")));
  }
  place.write("config.json", "{}");
  CHECK(find_model_files(place.path()).has_config);
}

TEST_CASE("a path to a file of weights names that file; other files stand for their directory") {
  const TemporaryDirectory place;
  for (const char* name : {"model.safetensors", "other.bin", "x.index.json", "my.pt"}) {
    const fs::path file = place.write(name, "");
    CHECK(find_model_files(file).weights == file);
    CHECK(find_model_files(file).directory == place.path());
  }
  for (const char* name : {"config.json", "tokenizer.json", "merges.txt"}) {
    CHECK(find_model_files(place.write(name, "")).weights == place.path() / "model.safetensors");
  }
}

TEST_CASE("refused: GGUF files, by their name") {
  const TemporaryDirectory place;
  const fs::path file = place.write("gpt2.Q4_K.gguf", "GGUF");
  const auto refused = [&](const fs::path& path) {
    check_refused([&] { (void)Model::load(path); }, {file.string(), "a GGUF file of llama.cpp"},
                  ErrorCode::unsupported);
  };
  refused(file);
  refused(place.path());
  place.write("config.json", "{}");
  refused(place.path());
  place.write("model.safetensors", "");  // HuggingFace weights are preferred
  CHECK(find_model_files(place.path()).weights == place.path() / "model.safetensors");
}

TEST_CASE("refused: PyTorch files without a config inside or beside them") {
  const TemporaryDirectory place;
  const fs::path source = fs::path(GPT2_TEST_DATA) / "oracle/cases/bin_only";
  fs::copy(source / "pytorch_model.bin", place.path() / "ckpt.pt");
  check_refused([&] { (void)Model::load(place.path()); },
                {place.path().string(), "no model_args", "no config.json"}, ErrorCode::not_found);
  fs::copy(source / "config.json", place.path() / "config.json");
  CHECK_NOTHROW(Model::load(place.path()));
}

}  // namespace gpt2::test::model_files_test
