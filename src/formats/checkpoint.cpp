#include "formats/checkpoint.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>

#include "base/mapped_file.h"
#include "base/quote.h"
#include "formats/pytorch.h"
#include "formats/safetensors.h"
#include "formats/shard_index.h"
#include "gpt2/error.h"

namespace gpt2 {

namespace fs = std::filesystem;

namespace {

// A path that cannot even be looked at does not exist either.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

struct Checkpoint::Impl {
  TensorTable tensors;
  std::vector<fs::path> files;
  std::vector<MappedFile> mappings;
  std::vector<std::vector<std::byte>> copies;
  std::string format = "safetensors";
  bool linear_layout = false;
  std::map<std::string, std::int64_t, std::less<>> model_args;

  // Adds the tensors of one file, among which must be the `expected` ones.
  void add_file(const fs::path& path, const std::vector<std::string>& expected) {
    files.push_back(path);
    const std::span<const std::byte> bytes = mappings.emplace_back(path).bytes();
    TensorTable table =
        is_pytorch(bytes) ? read_pytorch(bytes, path) : parse_safetensors(bytes, path.string());
    for (const std::string& name : expected) {
      if (!table.contains(name)) {
        throw Error(ErrorCode::invalid_file, path.string() + ": no tensor " + quote(name) +
                                                 ", which the index says is here");
      }
    }
    tensors.merge(table);
    if (!table.empty()) {
      throw Error(
          ErrorCode::invalid_file,
          path.string() + ": tensor " + quote(table.begin()->first) + " is in another shard too");
    }
  }

  TensorTable read_pytorch(std::span<const std::byte> bytes, const fs::path& path) {
    PyTorchFile file = parse_pytorch(bytes, path.string());
    std::move(file.copies.begin(), file.copies.end(), std::back_inserter(copies));
    format = std::move(file.format);
    linear_layout = file.is_nanogpt;
    model_args = std::move(file.model_args);
    return std::move(file.tensors);
  }

  void add_shards(const fs::path& index_file) {
    files.push_back(index_file);
    const ShardIndex index = read_shard_index(index_file);
    for (const auto& [shard, expected] : index) {
      const fs::path path = index_file.parent_path() / shard;
      if (!is_there(path)) {
        throw Error(ErrorCode::not_found, index_file.string() + ": shard " + quote(shard) +
                                              " is missing; download it to the same directory");
      }
      add_file(path, expected);
    }
    format += ", " + std::to_string(index.size()) + " shards";
  }
};

namespace {

// The file of weights in a directory.
fs::path weights_in(const fs::path& directory) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json", "ckpt.pt"}) {
    if (is_there(directory / name)) return directory / name;
  }
  throw Error(ErrorCode::not_found,
              directory.string() +
                  ": no weights; expected model.safetensors, pytorch_model.bin, an " +
                  "index of either's shards (... .index.json) or ckpt.pt");
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& directory_or_file) {
  std::error_code none;
  const fs::path path =
      fs::is_directory(directory_or_file, none) ? weights_in(directory_or_file) : directory_or_file;
  const auto impl = std::make_shared<Impl>();
  if (path.extension() == ".json") {
    impl->add_shards(path);
  } else {
    impl->add_file(path, {});
  }
  return Checkpoint(impl);
}

Checkpoint::Checkpoint(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto found = impl_->tensors.find(name);
  return found == impl_->tensors.end() ? nullptr : &found->second;
}

const TensorTable& Checkpoint::tensors() const noexcept { return impl_->tensors; }

const std::vector<fs::path>& Checkpoint::files() const noexcept { return impl_->files; }

const std::string& Checkpoint::format() const noexcept { return impl_->format; }

bool Checkpoint::linear_layout() const noexcept { return impl_->linear_layout; }

const std::map<std::string, std::int64_t, std::less<>>& Checkpoint::model_args() const noexcept {
  return impl_->model_args;
}

}  // namespace gpt2
