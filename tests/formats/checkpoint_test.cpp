// Tests which files a model's path stands for, and the shards of an index.
#include "formats/checkpoint.h"

#include "formats/model_files.h"
#include "gpt2/model.h"
#include "support/bytes.h"
#include "support/test.h"

namespace gpt2::test::checkpoint_test {

namespace fs = std::filesystem;

namespace {

const fs::path kCases = fs::path(GPT2_TEST_DATA) / "oracle/cases";

// Returns the bytes of a safetensors file with one tensor of one byte.
std::string file_with(const std::string& name) {
  const std::string header = "{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  return little_endian<std::uint64_t>(header.size()) + header + 'x';
}

void refused(const fs::path& path, std::initializer_list<std::string_view> facts,
             ErrorCode code = ErrorCode::invalid_file) {
  check_refused([&] { (void)Checkpoint::open(find_model_files(path)); }, facts, code);
}

// A directory with an index of shards.
class ShardedModel {
 public:
  // Replaces the index and returns its path.
  fs::path write(const std::string& json) {
    return directory_.write("model.safetensors.index.json", json);
  }
  fs::path write_map(const std::string& members) {
    return write(R"({"weight_map":{)" + members + "}}");
  }
  std::string write_shard(const char* name, const std::string& bytes) {
    return directory_.write(name, bytes).string();
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("the shards of an index form one checkpoint with the tensors of all shards") {
  const Checkpoint sharded = Checkpoint::open(find_model_files(kCases / "sharded_safetensors"));
  CHECK(sharded.format == "safetensors, 3 shards");
  CHECK(sharded.files.size() == 4);
  CHECK(sharded.files.front().filename() == "model.safetensors.index.json");
  CHECK(sharded.tensors.size() == 40);
  CHECK(sharded.tensors.at("transformer.wte.weight").shape == Shape{211, 32});
}

TEST_CASE("a directory without weights is refused for what it has in their place") {
  struct Case {
    const char* file;
    const char* fact;
    ErrorCode code = ErrorCode::unsupported;
  };
  for (const auto& [file, fact, code] : std::initializer_list<Case>{
           {"model.safetensors.incomplete", "unfinished download"},
           {"__0_0.distcp", "accelerate merge-weights"},
           {"pytorch_model_fsdp_0/__0_0.distcp", "accelerate merge-weights"},
           {"pytorch_model_fsdp.bin", "path of the file", ErrorCode::not_found},
           {"model.pt", "path of the file", ErrorCode::not_found},
           {"model-00001-of-00002.safetensors", ".index.json", ErrorCode::not_found},
           {"german/adapter_config.json", "such as"}}) {
    const TemporaryDirectory directory;
    CAPTURE(file);
    fs::create_directories((directory.path() / file).parent_path());
    directory.write("config.json", "{}");
    directory.write("training_args.bin", "");
    directory.write(file, "{}");
    refused(directory.path(), {directory.path().string(), fact}, code);
  }
  const TemporaryDirectory cache;
  refused(cache.path(), {cache.path().string() + ": no weights"}, ErrorCode::not_found);
  const fs::path snapshot = cache.path() / "snapshots/0a1b";
  fs::create_directories(snapshot);
  fs::create_directories(cache.path() / "blobs");
  cache.write("snapshots/0a1b/config.json", "{}");
  cache.write("blobs/1f.incomplete", "");
  refused(snapshot, {"1f.incomplete", "unfinished download"}, ErrorCode::unsupported);
}

TEST_CASE("weights in f16 beside none of other types are read") {
  const TemporaryDirectory directory;
  fs::copy_file(kCases / "weights_f16/model.safetensors",
                directory.path() / "model.fp16.safetensors");
  CHECK(find_model_files(directory.path()).weights.filename() == "model.fp16.safetensors");
  fs::copy_file(kCases / "weights_f16/model.safetensors", directory.path() / "model.safetensors");
  CHECK(find_model_files(directory.path()).weights.filename() == "model.safetensors");
}

TEST_CASE("refused: a malformed shard index") {
  ShardedModel model;
  std::string many = R"({"weight_map":{)";
  for (int i = 0; i <= 1000; ++i) {
    const std::string n = std::to_string(i);
    many += (i ? ",\"" : "\"") + n + "\":\"" + n + "\"";
  }
  const std::pair<std::string, const char*> indices[] = {
      {"{", "invalid JSON"},
      {"{}", "weight_map is missing"},
      {R"({"weight_map":[]})", "weight_map is an array"},
      {R"({"weight_map":{}})", "names no shard"},
      {R"({"weight_map":{"a\u001b":1}})", "the shard of 'a\\x1b' is not a string"},
      {R"({"weight_map":{"a":"x","a":"y"}})", "key 'a' appears twice"},
      {many + "}}", "1001 shards"},
  };
  for (const auto& [json, fact] : indices) refused(model.write(json), {"index.json", fact});
  const fs::path index = model.write("{");
  fs::resize_file(index, (std::uintmax_t{64} << 20) + 1);  // sparse: it takes no disk space
  refused(index, {index.string(), "67108865 bytes"});
}

TEST_CASE("refused: a shard whose name could lead out of the directory") {
  ShardedModel model;
  for (const std::string name :
       {"../x", "/etc/x", "C:x", "a/b", "a\\\\b", "..", ".", "", "a\\u0000b", "x\\n"}) {
    refused(model.write_map(R"("a":")" + name + "\""), {"is not the plain name of a file"});
  }
}

TEST_CASE("refused: shards and an index that contradict each other") {
  ShardedModel model;
  const std::string first = model.write_shard("shard1", file_with("a"));
  const fs::path index = model.write_map(R"("a":"shard1","b":"shard2")");
  refused(index, {index.string(), "shard 'shard2' is missing"}, ErrorCode::not_found);
  const std::string endless(5000, 'x');
  refused(model.write_map(R"("a":")" + endless + "\""), {"is missing"}, ErrorCode::not_found);
  const std::string second = model.write_shard("shard2", file_with("c"));
  refused(model.write_map(R"("a":"shard1","b":"shard2")"), {second, "no tensor 'b'"});
  model.write_shard("shard1", file_with("c"));
  refused(model.write_map(R"("a":"shard1","c":"shard2")"), {first, "no tensor 'a'"});
  model.write_map(R"("c":"shard1")");
  CHECK(Checkpoint::open(find_model_files(index)).tensors.contains("c"));
  const std::string empty = model.write_shard("shard3", little_endian<std::uint64_t>(2) + "{}");
  refused(model.write_map(R"("c":"shard1","d":"shard3")"), {empty, "no tensor 'd'"});
  const std::string broken = model.write_shard("shard1", "short");
  refused(model.write_map(R"("b":"shard1")"), {broken, "has only 5 bytes"});
}

TEST_CASE("refused: a tensor that two shards hold, or more than 100000 tensors in all shards") {
  ShardedModel model;
  const auto write_empty_tensors = [&](const char* shard, const std::string& prefix, int count) {
    std::string header;
    for (int i = 0; i < count; ++i) {
      header += (i ? ",\"" : "{\"") + prefix + std::to_string(i) +
                R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    }
    header += "}";
    return model.write_shard(shard, little_endian<std::uint64_t>(header.size()) + header);
  };
  const fs::path index = model.write_map(R"("a0":"shard1","b0":"shard2")");
  write_empty_tensors("shard1", "a", 60'000);
  write_empty_tensors("shard2", "b", 40'000);
  if (!is_slow()) CHECK_NOTHROW(Checkpoint::open(find_model_files(index)));
  const std::string second = write_empty_tensors("shard2", "b", 40'001);
  refused(index, {second, "more than 100000 tensors"});

  write_empty_tensors("shard1", "a", 2);
  write_empty_tensors("shard2", "a", 1);
  refused(model.write_map(R"("a1":"shard1","a0":"shard2")"),
          {second, "tensor 'a0' is in another shard too"});
}

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

TEST_CASE("refused: a file of another program, alone or in a directory") {
  const TemporaryDirectory place;
  const fs::path file =
      place.write("model.bin", std::string("\6\0\0\0\x17\0TransformerDecoderSpec\0", 29));
  for (const fs::path& path : {file, place.path()}) {
    refused(path, {file.string(), "CTranslate2"}, ErrorCode::unsupported);
  }
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

}  // namespace gpt2::test::checkpoint_test
