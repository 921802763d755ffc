#include "support/nanogpt.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "formats/checkpoint.h"
#include "gpt2/config.h"
#include "support/torch_file.h"

namespace gpt2::test {
namespace {

// Returns the transposed matrix of 4-byte elements.
std::string transposed(const std::string& bytes, std::size_t rows, std::size_t columns) {
  std::string result(bytes.size(), '\0');
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      std::memcpy(&result[4 * (j * rows + i)], &bytes[4 * (i * columns + j)], 4);
    }
  }
  return result;
}

std::string py_size(std::size_t size) { return py_int(static_cast<std::int32_t>(size)); }

std::string model_args(const Config& config, const NanoGpt& nano) {
  std::vector<Item> args = {{"n_layer", py_size(config.n_layer)},
                            {"n_head", py_size(config.n_head)},
                            {"n_embd", py_size(config.n_embd)},
                            {"block_size", py_size(config.n_positions)},
                            {"bias", nano.bias ? "\x88" : "\x89"},
                            {"vocab_size", py_size(std::max(nano.vocab_size, config.vocab_size))},
                            {"dropout", "G" + std::string(8, '\0')}};
  std::erase_if(args, [&](const Item& item) { return item.name == nano.without; });
  return py_dict(args);
}

}  // namespace

std::string nanogpt_file(const std::filesystem::path& huggingface, const NanoGpt& nano) {
  const Config config = Config::load(huggingface / "config.json");
  const Checkpoint hf = Checkpoint::open(find_model_files(huggingface));
  std::vector<Item> state;
  std::vector<StoredBytes> storages;
  std::string wte;
  for (const auto& [name, view] : hf.tensors) {
    const bool is_bias = name.ends_with(".bias");
    if (is_bias && !nano.bias) continue;
    std::string bytes(reinterpret_cast<const char*>(view.data), view.bytes);
    if (is_bias && nano.zero_bias) bytes.assign(bytes.size(), '\0');
    std::vector<std::int32_t> shape(view.shape.sizes().begin(), view.shape.sizes().end());
    if (name.find(".c_") != std::string::npos && shape.size() == 2) {
      bytes = transposed(bytes, view.shape[0], view.shape[1]);
      std::swap(shape[0], shape[1]);
    }
    if (name.ends_with("wte.weight")) {
      const std::size_t rows = std::max(nano.vocab_size, config.vocab_size);
      bytes.resize(rows * config.n_embd * 4);
      shape[0] = static_cast<std::int32_t>(rows);
    }
    const std::string key = std::to_string(storages.size());
    const std::vector<std::int32_t> strides =
        shape.size() == 2 ? std::vector<std::int32_t>{shape[1], 1} : std::vector<std::int32_t>{1};
    const std::string tensor =
        py_tensor(py_storage("FloatStorage", key, static_cast<std::int32_t>(bytes.size() / 4)), 0,
                  shape, strides);
    if (name.ends_with("wte.weight")) wte = tensor;
    state.push_back({nano.prefix + name, tensor});
    storages.push_back({key, bytes});
  }
  state.push_back({nano.prefix + "lm_head.weight", wte});  // tied, so it has the same storage
  // The storages of the optimizer are not in the file, so that a reader that accesses them fails.
  const std::string moment = py_tensor(py_storage("FloatStorage", "gone", 9), 0, {9}, {1});
  const std::string optimizer =
      py_dict({{"state", "}(" + py_int(0) + py_dict({{"exp_avg", moment}}) + "u"},
               {"param_groups", "]" + py_dict({{"lr", "K\1"}}) + "a"}});
  return torch_zip(py_dict({{"model", py_dict(state)},
                            {"optimizer", optimizer},
                            {"model_args", model_args(config, nano)},
                            {"iter_num", py_int(2000)},
                            {"best_val_loss", moment},
                            {"config", py_dict({{"dataset", py_text("x")}})}}),
                   storages);
}

}  // namespace gpt2::test
