#include "formats/checkpoint.h"

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "support/bytes.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::checkpoint_test {

namespace fs = std::filesystem;

namespace {

const fs::path kCases = fs::path(GPT2_TEST_DATA) / "oracle/cases";

// Returns the bytes of a safetensors file with one tensor of one byte.
std::string file_with(const std::string& name, char value = 'x') {
  const std::string header = "{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  return little_endian<std::uint64_t>(header.size()) + header + value;
}

const gpt2::TensorView* find(const Checkpoint& checkpoint, std::string_view name) {
  const auto found = checkpoint.tensors.find(name);
  return found == checkpoint.tensors.end() ? nullptr : &found->second;
}

// Returns the path of a file in the directory, as messages write it.
std::string in(const TemporaryDirectory& directory, const char* name) {
  return (directory.path() / name).string();
}

std::string refusal(const fs::path& path) {
  return refusal_of([&] { (void)Checkpoint::open(find_model_files(path)); });
}

char only_byte(const gpt2::TensorView* view) {
  REQUIRE(view != nullptr);
  REQUIRE(view->bytes == 1);
  return static_cast<char>(*view->data);
}

}  // namespace

TEST_CASE("a checkpoint finds tensors by name and lists them in name order") {
  const Checkpoint checkpoint =
      Checkpoint::open(find_model_files(kCases / "tiny_default" / "model.safetensors"));
  REQUIRE(find(checkpoint, "transformer.wte.weight") != nullptr);
  CHECK(find(checkpoint, "transformer.wte.weight")->shape == Shape{211, 32});
  CHECK(find(checkpoint, "transformer.wte") == nullptr);
  CHECK(checkpoint.tensors.size() == 28);
  CHECK(checkpoint.tensors.begin()->first == "transformer.h.0.attn.c_attn.bias");
  CHECK(checkpoint.files == std::vector<fs::path>{kCases / "tiny_default" / "model.safetensors"});
  CHECK(checkpoint.format == "safetensors");
  CHECK_FALSE(checkpoint.model_args);
  CHECK(checkpoint.ignored.empty());
}

TEST_CASE("moving a checkpoint keeps its files mapped at the same addresses") {
  const TemporaryDirectory directory;
  Checkpoint first =
      Checkpoint::open(find_model_files(directory.write("model.safetensors", file_with("a", '7'))));
  const gpt2::TensorView* const view = find(first, "a");
  const Checkpoint second = std::move(first);
  CHECK(find(second, "a") == view);
  CHECK(only_byte(view) == '7');
}

TEST_CASE("the shards of an index form one checkpoint with the tensors of all shards") {
  const Checkpoint sharded = Checkpoint::open(find_model_files(kCases / "sharded_safetensors"));
  CHECK(sharded.format == "safetensors, 3 shards");
  CHECK(sharded.files.size() == 4);
  CHECK(sharded.files.front().filename() == "model.safetensors.index.json");
  CHECK(sharded.tensors.size() == 40);
  CHECK(find(sharded, "transformer.wte.weight")->shape == Shape{211, 32});
}

TEST_CASE("the weights of a directory are chosen in HuggingFace's order of preference") {
  const TemporaryDirectory directory;
  const auto has = [&](const char* name) {
    return Checkpoint::open(find_model_files(directory.path())).tensors.contains(name);
  };
  directory.write("shard", file_with("b"));
  directory.write("model.safetensors.index.json", R"({"weight_map":{"b":"shard"}})");
  CHECK(has("b"));
  directory.write("model.safetensors", file_with("a"));
  CHECK(has("a"));
  CHECK_FALSE(has("b"));
}

TEST_CASE("refused: a path or a directory without weights") {
  const TemporaryDirectory directory;
  const std::string path = directory.path().string();
  CHECK(refusal(directory.path()) ==
        path +
            ": no weights; expected model.safetensors, pytorch_model.bin, an index of either's "
            "shards (... .index.json) or ckpt.pt");
  CHECK(refusal(directory.path() / "none") == in(directory, "none") + ": no such file or directory");
}

TEST_CASE("refused: a malformed shard index") {
  const TemporaryDirectory directory;
  const auto index = [&](std::string_view json) {
    const std::string message = refusal(directory.write("model.safetensors.index.json", json));
    const std::string where = in(directory, "model.safetensors.index.json");
    CHECK(message.find(where) == 0);
    return message.substr(std::min(where.size(), message.size()));
  };
  CHECK(index("{").find(": invalid JSON") == 0);
  CHECK(index("[]") == " is an array; expected an object");
  CHECK(index("{}") == ": weight_map is missing; expected an object");
  CHECK(index(R"({"weight_map":[]})") == ": weight_map is an array; expected an object");
  CHECK(index(R"({"weight_map":{}})") == ": weight_map: names no shard");
  CHECK(index(R"({"weight_map":{"a":1}})") == ": the shard of 'a' is not a string");
  CHECK(index(R"({"weight_map":{"a":"x","a":"y"}})") == ": key 'a' appears twice in one object");
  std::string many = R"({"weight_map":{)";
  for (int i = 0; i <= 1000; ++i) {
    const std::string n = std::to_string(i);
    many += (i ? ",\"" : "\"") + n + "\":\"" + n + "\"";
  }
  CHECK(index(many + "}}") == ": 1001 shards; expected at most 1000");
  CHECK(index(R"({"weight_map":{"a\u001b":1}})") == ": the shard of 'a\\x1b' is not a string");
  const fs::path large = directory.write("large.index.json", "{");
  fs::resize_file(large, (std::uintmax_t{64} << 20) + 1);  // sparse: it takes no disk space
  CHECK(refusal(large) == large.string() + ": 67108865 bytes; expected at most 67108864");
}

TEST_CASE("refused: a shard whose name could lead out of the directory") {
  const TemporaryDirectory directory;
  for (const char* name : {"../x", "/etc/x", "C:x", "a/b", "a\\\\b", "..", ".", "", "a\\u0000b", "x\\n"}) {
    CAPTURE(name);
    const std::string json = R"({"weight_map":{"a":")" + std::string(name) + "\"}}";
    CHECK(refusal(directory.write("model.safetensors.index.json", json))
              .find("is not the plain name of a file beside the index") != std::string::npos);
  }
}

TEST_CASE("refused: shards and an index that contradict each other") {
  const TemporaryDirectory directory;
  const fs::path index = directory.write("model.safetensors.index.json",
                                         R"({"weight_map":{"a":"shard1","b":"shard2"}})");
  directory.write("shard1", file_with("a"));
  CHECK(refusal(index) ==
        index.string() + ": shard 'shard2' is missing; download it to the same directory");
  const std::string endless(5000, 'x');
  directory.write("model.safetensors.index.json", R"({"weight_map":{"a":")" + endless + "\"}}");
  CHECK(refusal(index).find("is missing; download it") != std::string::npos);
  CHECK(refusal(directory.path() / endless).ends_with("x: no such file or directory"));
  directory.write("model.safetensors.index.json", R"({"weight_map":{"a":"shard1","b":"shard2"}})");
  directory.write("shard2", file_with("c"));
  CHECK(refusal(index) == in(directory, "shard2") + ": no tensor 'b', which the index says is here");
  directory.write("model.safetensors.index.json", R"({"weight_map":{"a":"shard1","c":"shard2"}})");
  directory.write("shard1", file_with("c"));
  CHECK(refusal(index) == in(directory, "shard1") + ": no tensor 'a', which the index says is here");
  directory.write("model.safetensors.index.json", R"({"weight_map":{"c":"shard1"}})");
  CHECK(refusal(index) == "(accepted)");
  directory.write("shard3", little_endian<std::uint64_t>(2) + "{}");
  directory.write("model.safetensors.index.json", R"({"weight_map":{"c":"shard1","d":"shard3"}})");
  CHECK(refusal(index) == in(directory, "shard3") + ": no tensor 'd', which the index says is here");
}

TEST_CASE("refused: a tensor that two shards hold") {
  const TemporaryDirectory directory;
  const std::string two = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                          R"("b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  directory.write("shard1", little_endian<std::uint64_t>(two.size()) + two);
  directory.write("shard2", file_with("a"));
  const fs::path index = directory.write("model.safetensors.index.json",
                                         R"({"weight_map":{"b":"shard1","a":"shard2"}})");
  CHECK(refusal(index) ==
        in(directory, "shard2") + ": tensor 'a' is in another shard too");
}

TEST_CASE("refused: shards with more than 100000 tensors in total") {
  const TemporaryDirectory directory;
  const auto write_empty_tensors = [&](const char* shard, const std::string& prefix, int count) {
    std::string header;
    for (int i = 0; i < count; ++i) {
      header += (i ? ",\"" : "{\"") + prefix + std::to_string(i) +
                R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    }
    header += "}";
    directory.write(shard, little_endian<std::uint64_t>(header.size()) + header);
  };
  const fs::path index = directory.write("model.safetensors.index.json",
                                         R"({"weight_map":{"a0":"shard1","b0":"shard2"}})");
  write_empty_tensors("shard1", "a", 60'000);
  write_empty_tensors("shard2", "b", 40'000);
  CHECK(refusal(index) == "(accepted)");
  write_empty_tensors("shard2", "b", 40'001);
  CHECK(refusal(index) ==
        in(directory, "shard2") + ": more than 100000 tensors in all shards");
}

TEST_CASE("an error in a shard names the shard") {
  const TemporaryDirectory directory;
  directory.write("shard", "short");
  const fs::path index =
      directory.write("model.safetensors.index.json", R"({"weight_map":{"b":"shard"}})");
  CHECK(refusal(index) ==
        in(directory, "shard") + ": has only 5 bytes; expected weights: download it again");
}

}  // namespace gpt2::test::checkpoint_test
