// Tests models and tokenizers that are loaded from memory: they compute the same bits as the ones
// loaded from the directory, and use the caller's bytes in place.
#include <deque>

#include "base/file_source.h"
#include "gpt2/model.h"
#include "gpt2/model_files.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"
#include "model/transformer.h"
#include "support/golden.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::memory_file_test {

namespace fs = std::filesystem;

namespace {

const fs::path kBundled = fs::path(GPT2_MODELS_DIR) / "gpt2-stories";
const fs::path kCases = fs::path(GPT2_TEST_DATA) / "oracle/cases";

// The files of a directory in memory, each `offset` bytes after an aligned address.
class InMemory {
 public:
  explicit InMemory(const fs::path& directory, std::size_t offset = 0) {
    for (const fs::directory_entry& file : fs::directory_iterator(directory)) {
      if (file.is_regular_file()) {
        add(file.path().filename().string(), read_file(file.path(), std::size_t{1} << 30), offset);
      }
    }
  }

  void add(const std::string& name, const std::string& content, std::size_t offset = 0) {
    auto bytes = std::make_shared<std::vector<std::byte>>(content.size() + offset);
    std::memcpy(bytes->data() + offset, content.data(), content.size());
    const std::span<const std::byte> span = std::span(*bytes).subspan(offset);
    files.push_back({.name = names_.emplace_back(name), .bytes = span, .owner = bytes});
  }

  MemoryFile& operator[](std::string_view name) {
    return *std::ranges::find(files, name, &MemoryFile::name);
  }

  std::vector<MemoryFile> files;

 private:
  std::deque<std::string> names_;  // keeps the addresses
};

std::vector<float> logits_of(const Model& model) {
  Session session(model);
  const std::size_t count = std::min<std::size_t>(model.config().n_positions, 9);
  return all_logits(session, random_tokens(model, count, 1));
}

// Checks that the files are refused as a T (Model or Tokenizer), and that the message begins so.
template <class T>
void refused(const InMemory& memory, const std::string& begin,
             ErrorCode code = ErrorCode::invalid_file) {
  const auto load = [&] { (void)T::load(memory.files); };
  check_refused(load, {begin}, code);
  CHECK(refusal_of(load).starts_with(begin));
}

}  // namespace

TEST_CASE("a model in memory equals that of its directory, in every format") {
  std::vector<fs::path> directories = test::oracle_cases();
  directories.push_back(kBundled);
  for (const fs::path& directory : directories) {
    INFO(directory);
    const InMemory memory(directory);
    const Model from_memory = Model::load(memory.files);
    const Model from_files = Model::load(directory);
    CHECK(same_bits(logits_of(from_memory), logits_of(from_files)));
    CHECK(from_memory.config().to_json() == from_files.config().to_json());
    CHECK(from_memory.parameter_count() == from_files.parameter_count());
    CHECK(from_memory.weight_type() == from_files.weight_type());
    const ModelDescription& a = from_memory.description();
    const ModelDescription& b = from_files.description();
    CHECK(a.format == b.format);
    CHECK(a.dtypes == b.dtypes);
    CHECK(a.ignored == b.ignored);
    CHECK(a.mapped_bytes == b.mapped_bytes);
    REQUIRE(a.files.size() == b.files.size());
    for (std::size_t i = 0; i < a.files.size(); ++i) CHECK(a.files[i] == b.files[i].filename());
  }
}

TEST_CASE("weights are used where they lie, at any alignment") {
  const std::vector<float> expected = logits_of(Model::load(kBundled));
  for (const std::size_t offset : {0u, 1u, 2u, 63u}) {
    InMemory memory(kBundled, offset);
    const Model model = Model::load(memory.files);
    const std::span<const std::byte> bytes = memory["model.safetensors"].bytes;
    const std::byte* const head = model.transformer()->lm_head.data;
    CHECK((head > bytes.data() && head < bytes.data() + bytes.size()));
    CHECK(same_bits(logits_of(model), expected));
  }
}

TEST_CASE("a model keeps the owner of its weights, and no other") {
  auto memory = std::make_unique<InMemory>(kBundled);
  const std::weak_ptr<const void> weights = (*memory)["model.safetensors"].owner;
  const std::weak_ptr<const void> config = (*memory)["config.json"].owner;
  auto model = std::make_unique<Model>(Model::load(memory->files));
  const std::vector<float> before = logits_of(*model);
  memory.reset();
  CHECK(config.expired());
  CHECK_FALSE(weights.expired());
  CHECK(same_bits(logits_of(*model), before));
  model.reset();
  CHECK(weights.expired());
}

TEST_CASE("the refusal of a model in memory names the file as the caller did") {
  InMemory memory(kCases / "tiny_default");
  memory["model.safetensors"].bytes = memory["model.safetensors"].bytes.first(100);
  refused<Model>(memory, "model.safetensors: the header has ");
  memory["config.json"].bytes = {};
  refused<Model>(memory, "config.json: ");
  memory["config.json"].name = "other.json";
  refused<Model>(memory, "memory: no config.json", ErrorCode::not_found);
  memory.files.push_back(memory.files.front());
  refused<Model>(memory,
                 "two files in memory have the name '" + std::string(memory.files.front().name),
                 ErrorCode::invalid_argument);
  memory.files.clear();
  memory.add("config.json", R"({"model_type": "gpt2"})");
  refused<Model>(memory, "memory: no weights", ErrorCode::not_found);

  InMemory sharded(kCases / "sharded_safetensors");
  std::erase_if(sharded.files, [](const MemoryFile& file) {
    return file.name.starts_with("model-00002") && file.name.ends_with(".safetensors");
  });
  refused<Model>(sharded, "model.safetensors.index.json: shard 'model-00002", ErrorCode::not_found);
}

TEST_CASE("a tokenizer in memory equals that of its directory") {
  const std::string text = "Once upon a time<|endoftext|> caf\u00e9";
  for (const fs::path& directory : {kBundled, fs::path(GPT2_TEST_DATA) / "tokenizer/small"}) {
    INFO(directory);
    const Tokenizer from_files = Tokenizer::load(directory);
    const Tokenizer from_memory = Tokenizer::load(InMemory(directory).files);
    CHECK(from_memory.encode(text) == from_files.encode(text));
    CHECK(from_memory.description() == from_files.description());
    REQUIRE(from_memory.files().size() == from_files.files().size());
    for (std::size_t i = 0; i < from_files.files().size(); ++i) {
      CHECK(from_files.files()[i] == directory / from_memory.files()[i]);
    }
    CHECK(from_memory.end_of_text() == from_files.end_of_text());
  }
}

TEST_CASE("the refusal of a tokenizer in memory names the file as the caller did") {
  InMemory memory(kBundled);
  memory["vocab.json"].bytes = {};
  refused<Tokenizer>(memory, "vocab.json");
  std::erase_if(memory.files, [](const MemoryFile& file) { return file.name == "merges.txt"; });
  refused<Tokenizer>(memory, "merges.txt: ", ErrorCode::not_found);
  memory.files.clear();
  refused<Tokenizer>(memory, "memory: no tokenizer", ErrorCode::not_found);
}

}  // namespace gpt2::test::memory_file_test
