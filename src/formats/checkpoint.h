#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_table.h"

namespace gpt2 {

/// The weights of a model, from any format: names and where their bytes lie in the mapped files,
/// which stay mapped as long as one copy of the Checkpoint lives. Nothing is converted. Immutable
/// and cheap to copy.
class Checkpoint {
 public:
  /// Opens a file of weights or an index of shards by its content; or, in a directory, the first of
  /// model.safetensors, model.safetensors.index.json, pytorch_model.bin,
  /// pytorch_model.bin.index.json (HuggingFace's order) and ckpt.pt (nanoGPT's name). Throws Error.
  [[nodiscard]] static Checkpoint open(const std::filesystem::path& directory_or_file);

  /// nullptr where there is no such tensor.
  [[nodiscard]] const TensorView* find(std::string_view name) const;

  /// All of them, in name order. Lives as long as a copy of this.
  [[nodiscard]] const TensorTable& tensors() const noexcept;

  /// The files read, an index before its shards. At least one.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept;

  /// For people: "safetensors", "PyTorch zip, 5 shards" ...
  [[nodiscard]] const std::string& format() const noexcept;

  /// Whether matrices lie as torch.nn.Linear has them, [out, in] (nanoGPT), instead of as
  /// HuggingFace's Conv1D has them, [in, out].
  [[nodiscard]] bool linear_layout() const noexcept;

  /// nanoGPT's "model_args", which take the place of a config.json: n_layer, n_head, n_embd,
  /// block_size, vocab_size and bias (0 or 1), as far as they are whole numbers or booleans. Empty
  /// in other checkpoints.
  [[nodiscard]] const std::map<std::string, std::int64_t, std::less<>>& model_args() const noexcept;

 private:
  struct Impl;
  explicit Checkpoint(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace gpt2
