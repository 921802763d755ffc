#include <algorithm>
#include <new>

#include "fuzz_tokenizer.h"
#include "gpt2/model.h"
#include "gpt2/session.h"
#include "support/passes.h"

// Fuzzes a whole model directory. An input is several files, each after a line "%%% NAME". The
// target does everything that a user may do with such a directory.
namespace {

using namespace gpt2;
namespace fs = std::filesystem;

constexpr std::string_view kHeader = "%%% ";
constexpr std::string_view kNames[] = {
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "shard1",
    "shard2",
    "ckpt.pt",
    "adapter_config.json",
    "adapter_model.safetensors",
    "adapter_model.bin",
    "tokenizer.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "spiece.model",
    "added_tokens.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
};

// Writes the files of the input, except those with a name that no reader opens.
void write_files(const test::TemporaryDirectory& directory, std::string_view input) {
  for (const std::string_view name : kNames) fs::remove(directory.path() / name);
  for (std::size_t at = input.find(kHeader); at != input.npos;) {
    const std::string_view rest = input.substr(at + kHeader.size());
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    const std::size_t end = rest.find(kHeader, line);
    const std::string_view name = rest.substr(0, line);
    if (std::ranges::find(kNames, name) != std::end(kNames) && line < rest.size()) {
      directory.write(name, rest.substr(line + 1, end - line - 1));
    }
    at = end == rest.npos ? end : at + kHeader.size() + end;
  }
}

std::vector<float> logits_of(const Model& model) {
  const Config& config = model.config();
  std::vector<TokenId> tokens = {0, static_cast<TokenId>(config.vocab_size - 1), 0};
  tokens.resize(std::min(tokens.size(), config.n_positions));
  Session session(Engine(model, {.threads = 1}));
  const std::span<const float> logits = session.forward(tokens);
  if (logits.size() != config.vocab_size) __builtin_trap();
  return {logits.begin(), logits.end()};
}

std::vector<float> logits_as(const fs::path& path, WeightType type) {
  return logits_of(Model::load(path, {.dtype = type}));
}

// A quantized model must give the same logits after it was saved and loaded again.
void use_quantized(const fs::path& path, const fs::path& saved, WeightType type) {
  const Model model = Model::load(path, {.dtype = type});
  fs::remove_all(saved);
  save_quantized(model, path, saved, [](double) {});
  if (!test::same_bits(logits_as(saved, type), logits_of(model))) __builtin_trap();
}

void use_tokenizer(const fs::path& directory) {
  const Tokenizer tokenizer = Tokenizer::load(directory);
  fuzz::use(tokenizer, /*is_lossless=*/false);
  if (tokenizer.encode_text(fuzz::kText).lost_bytes > fuzz::kText.size()) __builtin_trap();
  const fs::path config = directory / "config.json";
  if (fs::exists(config)) tokenizer.require_match(Config::load(config));
}

// If a file asks for more memory than there is, std::bad_alloc is right as well.
template <class Use>
void expect_answer_or_no_memory(const Use& use) {
  try {
    fuzz::expect_answer(use);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryDirectory directory;
  write_files(directory, fuzz::text_of(data, size));
  // An adapter is merged into the model beside it, if it names "." as its base.
  const fs::path adapter = directory.path() / "adapter_config.json";
  const fs::path path = fs::exists(adapter) ? adapter : directory.path();
  std::vector<float> stored;
  expect_answer_or_no_memory([&] { stored = logits_as(path, WeightType::stored); });
  expect_answer_or_no_memory([&] {  // widening is exact, so nothing may change
    const std::vector<float> widened = logits_as(path, WeightType::f32);
    if (!stored.empty() && !test::same_bits(widened, stored)) __builtin_trap();
  });
  for (const WeightType type : {WeightType::f16, WeightType::bf16}) {
    expect_answer_or_no_memory([&] { static_cast<void>(logits_as(path, type)); });
  }
  for (const WeightType type : {WeightType::int8, WeightType::int4}) {
    expect_answer_or_no_memory([&] { use_quantized(path, directory.path() / "saved", type); });
  }
  expect_answer_or_no_memory([&] { use_tokenizer(directory.path()); });
  return 0;
}
